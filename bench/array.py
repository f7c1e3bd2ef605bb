"""Measure the CPU time to parse a streamed JSON array, with Moot's parser and with parsers that restart for each chunk.

Run `python -m bench.array`. Arrays of speech and actions arrive in chunks of 4 characters. Moot's parser gets all chunks.
Each other parser parses the received string at a sample of the chunks, and the benchmark extrapolates the total.
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

from bench.provider_frames import TEXT
from moot.streaming.json_array.parser import ArrayPiece, JsonArrayParser, ObjectItem, SpeechDelta

CHUNK = 4  # characters
SIZES = (25, 100, 400)  # KB
QUICK_SIZES = (25, 100)
MOOT, DAMAGED = "Moot", "Moot, damaged array"
JITER, PARTIAL, REPAIR = "jiter", "partial-json-parser", "json-repair"

Items = list[dict[str, object]]
ParseFunction = Callable[[str], object]


class CpuTimes(Struct, frozen=True):
    """CPU seconds to process the whole input; the key is the size of the input in KB."""

    name: str
    seconds: dict[int, float]


class Goal(Struct, frozen=True):
    """A limit, and the measured value as a string."""

    name: str
    limit: str
    measured: str
    met: bool


def build_array(kilobytes: int) -> tuple[str, str]:
    """Return a valid JSON array of this size, and the same array with typical syntax errors of models."""
    sentences, items, size = TEXT.split(" . "), Items(), 0
    while size < 1000 * kilobytes:
        number = len(items)
        speech = f'Step {number}, a "small" one: {sentences[number % len(sentences)]} [1].\nSo it is.'
        params = {"id": f"e{number}", "x": 10 * number, "y": 20.5, "bold": True, "tags": ["a", "b"]}
        pair: Items = [
            {"type": "text", "content": speech},
            {"type": "action", "name": "wb_draw_text", "params": params},
        ]
        items += pair
        size += len(json.dumps(pair))
    valid = json.dumps(items)
    return valid, valid.replace('\\"', '"').replace("\\n", "\n").replace("true", "True").replace("]}}", "],},}")


def split_chunks(text: str) -> list[str]:
    return [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]


def measure_moot_parser(text: str, rounds: int, expected: Items) -> float:
    """Return the median CPU seconds of Moot's parser, and check the parsed values."""
    chunks, cpu_times = split_chunks(text), []
    for _ in range(rounds):
        parser, parsed = JsonArrayParser(), list[ArrayPiece]()
        start_time = time.process_time()
        for chunk in chunks:
            parsed += parser.feed(chunk)
        cpu_times.append(time.process_time() - start_time)
        speech = " ".join(str(item["content"]) for item in expected if item["type"] == "text")
        assert "".join(piece.text for piece in parsed if isinstance(piece, SpeechDelta)) == speech
        assert [piece.value for piece in parsed if isinstance(piece, ObjectItem)] == expected[1::2]
    return median(cpu_times)


def measure_restarting_parser(parse: ParseFunction, text: str, samples: int) -> float:
    """Parse the received string at evenly spaced chunks, and return the estimated CPU seconds for all chunks."""
    chunks, cpu_time = len(text) // CHUNK, 0.0
    for sample in range(samples):
        received = text[: CHUNK * int((sample + 0.5) * chunks / samples)]
        start_time = time.process_time()
        parse(received)
        cpu_time += time.process_time() - start_time
    return cpu_time / samples * chunks


def import_other_parsers() -> dict[str, ParseFunction]:
    """Return the installed parse functions by name; the dependency group `bench` installs them."""
    parsers: dict[str, ParseFunction] = {}
    if find_spec("jiter"):
        jiter = import_module("jiter")
        parsers[JITER] = lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings")
    if find_spec("partial_json_parser"):
        parsers[PARTIAL] = import_module("partial_json_parser").loads
    if find_spec("json_repair"):
        parsers[REPAIR] = import_module("json_repair").loads
    return parsers


def measure_parsers(sizes: Sequence[int], rounds: int, samples: int) -> list[CpuTimes]:
    arrays = {size: build_array(size) for size in sizes}
    expected = {size: json.loads(valid) for size, (valid, _) in arrays.items()}
    rows = [
        CpuTimes(name, {size: measure_moot_parser(arrays[size][index], rounds, expected[size]) for size in sizes})
        for index, name in enumerate((MOOT, DAMAGED))
    ]
    for name, parse in import_other_parsers().items():
        rows.append(
            CpuTimes(
                name, {size: measure_restarting_parser(parse, valid, samples) for size, (valid, _) in arrays.items()}
            )
        )
    return rows


def check_goals(rows: Sequence[CpuTimes]) -> list[Goal]:
    seconds_by_name = {row.name: row.seconds for row in rows}
    goals = []
    for name in (MOOT, DAMAGED):
        slowest = max(1e6 * seconds / (1000 * size / CHUNK) for size, seconds in seconds_by_name[name].items())
        goals.append(Goal(f"{name}, per chunk", "<= 5 µs", f"{slowest:.2f} µs", slowest <= 5))
        if 400 in seconds_by_name[name]:
            growth = seconds_by_name[name][400] / seconds_by_name[name][100]
            goals.append(Goal(f"{name}, 400 KB relative to 100 KB", "<= 5 x", f"{growth:.2f} x", growth <= 5))
    for name, minimum in ((JITER, 10), (REPAIR, 1000)):
        if name in seconds_by_name:
            ratio = seconds_by_name[name][100] / seconds_by_name[MOOT][100]
            goals.append(
                Goal(f"{name} relative to Moot at 100 KB", f">= {minimum:,} x", f"{ratio:,.0f} x", ratio >= minimum)
            )
    return goals


def print_report(rows: Sequence[CpuTimes], goals: Sequence[Goal]) -> None:
    versions = [
        f"{name} {metadata.version(name)}" for name in (JITER, PARTIAL, REPAIR) if name in import_other_parsers()
    ]
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"{', '.join(versions)}; load {os.getloadavg()[0]:.1f}\n"
    )
    sizes = list(rows[0].seconds)
    print("| CPU seconds |", " | ".join(f"{size} KB" for size in sizes), "| µs per chunk at 100 KB | x Moot |")
    print("| --- |" + " ---: |" * (len(sizes) + 2))
    for row in rows:
        cells = " | ".join(f"{row.seconds[size]:,.3f}" for size in sizes)
        us_per_chunk, ratio = 1e6 * row.seconds[100] / (100_000 / CHUNK), row.seconds[100] / rows[0].seconds[100]
        print(f"| {row.name} | {cells} | {us_per_chunk:,.2f} | {ratio:,.1f} |")
    print_goals(goals)


def print_goals(goals: Sequence[Goal]) -> None:
    print("\n| goal | limit | measured | |\n| --- | ---: | ---: | --- |")
    for goal in goals:
        print(f"| {goal.name} | {goal.limit} | {goal.measured} | {'met' if goal.met else 'not met'} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.array", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="smaller arrays and fewer samples; its results are not precise"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE as JSON")
    arguments = parser.parse_args()
    rows = measure_parsers(QUICK_SIZES, 3, 5) if arguments.quick else measure_parsers(SIZES, 7, 25)
    goals = check_goals(rows)
    print_report(rows, goals)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode((rows, goals)), indent=2) + b"\n")


if __name__ == "__main__":
    main()
