"""What it costs to cut a streamed answer into messages for Discord.

Run `python -m bench.segments`. Answers of prose, lists, code and tables come one character at a time, which is the
dearest way for them to come.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from bench.array import Goal, Row, show_goals
from bench.frames import TEXT
from moot.discord.format.mentions import ChannelMember, ChannelMembers
from moot.discord.format.message_formatter import DeliveryStyle, MessageFormatter
from moot.discord.format.segmenter import Segmenter

SIZES = (25, 50, 100, 200)  # KB
CHANNEL_MEMBERS = ChannelMembers(
    participant="Alpha",
    other_participants=("Beta", "Gamma"),
    members=tuple(ChannelMember(str(number), (f"member{number}",)) for number in range(1000)),
)
DELIVERY_STYLES: tuple[DeliveryStyle, ...] = ("whole", "paragraphs", "typing", "sentences")
CODE = "```python\ndef longest(words):\n    return max(words, key=len)  # the first, if there are two\n```\n"
TABLE = "| word | length |\n| --- | ---: |\n| provider | 8 |\n| chunk | 5 |\n"

CreateSegmenter = Callable[[], Segmenter | MessageFormatter]


def make_answer(kilobytes: int) -> str:
    """Return an answer of this size, as models write them."""
    sentences, blocks, size = TEXT.split(" . "), list[str](), 0
    while size < 1000 * kilobytes:
        number = len(blocks)
        first, second = sentences[number % len(sentences)], sentences[(number + 1) % len(sentences)]
        words = f'{first} (see "{number}"), e.g. `x = {number}`. {second}, @member{number % 1000}.\n\n'
        items = f"- **First**: {first}.\n- Second: {second}!\n\n"
        blocks.append((words, words, items, CODE, words, TABLE + "\n")[number % 6])
        size += len(blocks[-1])
    return "".join(blocks)[: 1000 * kilobytes]


def measured_segmenters() -> dict[str, CreateSegmenter]:
    """Return the measured segmenters by name; each call starts a new answer."""
    formatters: dict[str, CreateSegmenter] = {
        style: partial(
            MessageFormatter,
            delivery_style=style,
            channel_members=CHANNEL_MEMBERS,
            random_source=lambda: 0.5,
        )
        for style in DELIVERY_STYLES
    }
    return {"pieces alone": partial(Segmenter, sentences=False), **formatters}


def feed_seconds(create_segmenter: CreateSegmenter, text: str) -> float:
    segmenter = create_segmenter()
    began = time.process_time()
    for char in text:
        segmenter.feed(char)
    segmenter.flush() if isinstance(segmenter, MessageFormatter) else segmenter.finish_text()
    return time.process_time() - began


def measure(rounds: int) -> list[Row]:
    """Measure all segmenters in turns, so that a busy minute affects all of them."""
    texts = {size: make_answer(size) for size in SIZES}
    spent: dict[str, dict[int, list[float]]] = {name: {size: [] for size in SIZES} for name in measured_segmenters()}
    for _ in range(rounds):
        for name, begin in measured_segmenters().items():
            for size, text in texts.items():
                spent[name][size].append(feed_seconds(begin, text))
    return [Row(name, {size: median(seconds) for size, seconds in sizes.items()}) for name, sizes in spent.items()]


def goals(rows: Sequence[Row]) -> list[Goal]:
    found = []
    for row in rows:
        most = max(_microseconds(row, size) for size in SIZES)
        found.append(Goal(f"{row.name}, a character", "<= 5 µs", f"{most:.2f} µs", most <= 5))
        growth = row.seconds[200] / row.seconds[50]
        found.append(Goal(f"{row.name}, 200 KB against 50 KB", "<= 5 x", f"{growth:.2f} x", growth <= 5))
    return found


def _microseconds(row: Row, size: int) -> float:
    return 1000 * row.seconds[size] / size


def show(rows: Sequence[Row], found: Sequence[Goal]) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print("| µs a character |", " | ".join(f"{size} KB" for size in SIZES), "|")
    print("| --- |" + " ---: |" * len(SIZES))
    for row in rows:
        print(f"| {row.name} |", " | ".join(f"{_microseconds(row, size):.2f}" for size in SIZES), "|")
    show_goals(found)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m bench.segments", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a single round; its figures are rough")
    rows = measure(1 if options.parse_args().quick else 7)
    show(rows, goals(rows))


if __name__ == "__main__":
    main()
