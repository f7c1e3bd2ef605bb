"""What it costs to read a JSON array while it streams, beside parsing all that has come again for each chunk.

Run `python -m bench.array`. Arrays of speech and actions come in chunks of 4 characters. Moot reads them whole; the others
parse what there is at some of the chunks, and the sum over all chunks is reckoned from these.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct

from bench.frames import TEXT
from moot.streaming.json_array.parser import ArrayPiece, JsonArrayParser, ObjectItem, SpeechDelta

CHUNK = 4  # characters
SIZES = (25, 100, 400)  # KB
QUICK_SIZES = (25, 100)
MOOT, DAMAGED = "Moot", "Moot, damaged array"
JITER, PARTIAL, REPAIR = "jiter", "partial-json-parser", "json-repair"

Items = list[dict[str, object]]
Parse = Callable[[str], object]


class Row(Struct, frozen=True):
    """CPU seconds for the whole array, at each size in KB."""

    name: str
    seconds: dict[int, float]


class Goal(Struct, frozen=True):
    name: str
    wanted: str
    found: str
    met: bool


def make_array(kilobytes: int) -> tuple[str, str]:
    """Return an array of this size, and the same with the damage that models do."""
    sentences, items, size = TEXT.split(" . "), Items(), 0
    while size < 1000 * kilobytes:
        number = len(items)
        speech = f'Step {number}, a "small" one: {sentences[number % len(sentences)]} [1].\nSo it is.'
        place = {"id": f"e{number}", "x": 10 * number, "y": 20.5, "bold": True, "tags": ["a", "b"]}
        pair: Items = [
            {"type": "text", "content": speech},
            {"type": "action", "name": "wb_draw_text", "params": place},
        ]
        items += pair
        size += len(json.dumps(pair))
    whole = json.dumps(items)
    return whole, whole.replace('\\"', '"').replace("\\n", "\n").replace("true", "True").replace("]}}", "],},}")


def split_chunks(text: str) -> list[str]:
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


def read_seconds(text: str, rounds: int, expected: Items) -> float:
    chunks, spent = split_chunks(text), []
    for _ in range(rounds):
        reader, read = JsonArrayParser(), list[ArrayPiece]()
        began = time.process_time()
        for chunk in chunks:
            read += reader.feed(chunk)
        spent.append(time.process_time() - began)
        speech = " ".join(str(one["content"]) for one in expected if one["type"] == "text")
        assert "".join(one.text for one in read if isinstance(one, SpeechDelta)) == speech
        assert [one.value for one in read if isinstance(one, ObjectItem)] == expected[1::2]
    return median(spent)


def parse_seconds(parse: Parse, text: str, samples: int) -> float:
    """Parse what has come at evenly spread chunks; each stands for those around it."""
    chunks, spent = len(text) // CHUNK, 0.0
    for sample in range(samples):
        come = text[: CHUNK * int((sample + 0.5) * chunks / samples)]
        began = time.process_time()
        parse(come)
        spent += time.process_time() - began
    return spent / samples * chunks


def contenders() -> dict[str, Parse]:
    """Return the parsers that are installed; they come with the group `bench`."""
    found: dict[str, Parse] = {}
    if find_spec("jiter"):
        jiter = import_module("jiter")
        found[JITER] = lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings")
    if find_spec("partial_json_parser"):
        found[PARTIAL] = import_module("partial_json_parser").loads
    if find_spec("json_repair"):
        found[REPAIR] = import_module("json_repair").loads
    return found


def measure(sizes: Sequence[int], rounds: int, samples: int) -> list[Row]:
    arrays = {size: make_array(size) for size in sizes}
    meant = {size: json.loads(whole) for size, (whole, _) in arrays.items()}
    rows = [
        Row(name, {size: read_seconds(arrays[size][way], rounds, meant[size]) for size in sizes})
        for way, name in enumerate((MOOT, DAMAGED))
    ]
    for name, parse in contenders().items():
        rows.append(Row(name, {size: parse_seconds(parse, whole, samples) for size, (whole, _) in arrays.items()}))
    return rows


def goals(rows: Sequence[Row]) -> list[Goal]:
    by = {row.name: row.seconds for row in rows}
    found = []
    for name in (MOOT, DAMAGED):
        most = max(1e6 * seconds / (1000 * size / CHUNK) for size, seconds in by[name].items())
        found.append(Goal(f"{name}, a chunk", "<= 5 µs", f"{most:.2f} µs", most <= 5))
        if 400 in by[name]:
            growth = by[name][400] / by[name][100]
            found.append(Goal(f"{name}, 400 KB against 100 KB", "<= 5 x", f"{growth:.2f} x", growth <= 5))
    for name, least in ((JITER, 10), (REPAIR, 1000)):
        if name in by:
            times = by[name][100] / by[MOOT][100]
            found.append(Goal(f"{name} against Moot at 100 KB", f">= {least:,} x", f"{times:,.0f} x", times >= least))
    return found


def show(rows: Sequence[Row], found: Sequence[Goal]) -> None:
    versions = [f"{name} {metadata.version(name)}" for name in (JITER, PARTIAL, REPAIR) if name in contenders()]
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"{', '.join(versions)}; load {os.getloadavg()[0]:.1f}\n"
    )
    sizes = list(rows[0].seconds)
    print("| CPU seconds |", " | ".join(f"{size} KB" for size in sizes), "| µs a chunk at 100 KB | x Moot |")
    print("| --- |" + " ---: |" * (len(sizes) + 2))
    for row in rows:
        figures = " | ".join(f"{row.seconds[size]:,.3f}" for size in sizes)
        chunk, times = 1e6 * row.seconds[100] / (100_000 / CHUNK), row.seconds[100] / rows[0].seconds[100]
        print(f"| {row.name} | {figures} | {chunk:,.2f} | {times:,.1f} |")
    show_goals(found)


def show_goals(found: Sequence[Goal]) -> None:
    print("\n| goal | wanted | found | |\n| --- | ---: | ---: | --- |")
    for goal in found:
        print(f"| {goal.name} | {goal.wanted} | {goal.found} | {'met' if goal.met else 'not met'} |")


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.array", description=__doc__)
    options.add_argument("--quick", action="store_true", help="smaller arrays and fewer samples; its figures are rough")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    chosen = options.parse_args()
    rows = measure(QUICK_SIZES, 3, 5) if chosen.quick else measure(SIZES, 7, 25)
    found = goals(rows)
    show(rows, found)
    if chosen.json:
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode((rows, found)), indent=2) + b"\n")


if __name__ == "__main__":
    main()
