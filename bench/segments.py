"""Measure the CPU time to split a streamed answer into Discord messages.

Run `python -m bench.segments`. The input is a string of prose, lists, code and tables. Each chunk of the stream is one
character, which is the most expensive case.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from bench.array import CpuTimes, Goal, print_goals
from bench.provider_frames import TEXT
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


def build_answer(kilobytes: int) -> str:
    """Return an answer string of this size, with the Markdown that models typically return."""
    sentences, blocks, size = TEXT.split(" . "), list[str](), 0
    while size < 1000 * kilobytes:
        number = len(blocks)
        first, second = sentences[number % len(sentences)], sentences[(number + 1) % len(sentences)]
        words = f'{first} (see "{number}"), e.g. `x = {number}`. {second}, @member{number % 1000}.\n\n'
        items = f"- **First**: {first}.\n- Second: {second}!\n\n"
        blocks.append((words, words, items, CODE, words, TABLE + "\n")[number % 6])
        size += len(blocks[-1])
    return "".join(blocks)[: 1000 * kilobytes]


def list_segmenters() -> dict[str, CreateSegmenter]:
    """Return a function for each measured case; it creates a segmenter for a new answer."""
    formatters: dict[str, CreateSegmenter] = {
        style: partial(
            MessageFormatter,
            delivery_style=style,
            channel_members=CHANNEL_MEMBERS,
            random_source=lambda: 0.5,
        )
        for style in DELIVERY_STYLES
    }
    return {"splitting only": partial(Segmenter, sentences=False), **formatters}


def measure_segmenter(create_segmenter: CreateSegmenter, text: str) -> float:
    """Return the CPU seconds to process this string."""
    segmenter = create_segmenter()
    start_time = time.process_time()
    for char in text:
        segmenter.feed(char)
    segmenter.flush() if isinstance(segmenter, MessageFormatter) else segmenter.finish_text()
    return time.process_time() - start_time


def measure_segmenters(rounds: int) -> list[CpuTimes]:
    """Alternate between the segmenters in each round, so that other processes affect all of them equally."""
    texts = {size: build_answer(size) for size in SIZES}
    cpu_times: dict[str, dict[int, list[float]]] = {name: {size: [] for size in SIZES} for name in list_segmenters()}
    for _ in range(rounds):
        for name, create_segmenter in list_segmenters().items():
            for size, text in texts.items():
                cpu_times[name][size].append(measure_segmenter(create_segmenter, text))
    return [
        CpuTimes(name, {size: median(seconds) for size, seconds in sizes.items()}) for name, sizes in cpu_times.items()
    ]


def check_goals(rows: Sequence[CpuTimes]) -> list[Goal]:
    goals = []
    for row in rows:
        slowest = max(_compute_us_per_character(row, size) for size in SIZES)
        goals.append(Goal(f"{row.name}, per character", "<= 5 µs", f"{slowest:.2f} µs", slowest <= 5))
        growth = row.seconds[200] / row.seconds[50]
        goals.append(Goal(f"{row.name}, 200 KB relative to 50 KB", "<= 5 x", f"{growth:.2f} x", growth <= 5))
    return goals


def _compute_us_per_character(row: CpuTimes, size: int) -> float:
    return 1000 * row.seconds[size] / size


def print_report(rows: Sequence[CpuTimes], goals: Sequence[Goal]) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}; "
        f"load {os.getloadavg()[0]:.1f}\n"
    )
    print("| µs per character |", " | ".join(f"{size} KB" for size in SIZES), "|")
    print("| --- |" + " ---: |" * len(SIZES))
    for row in rows:
        print(f"| {row.name} |", " | ".join(f"{_compute_us_per_character(row, size):.2f}" for size in SIZES), "|")
    print_goals(goals)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.segments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a single round; its results are not precise")
    rows = measure_segmenters(1 if parser.parse_args().quick else 7)
    print_report(rows, check_goals(rows))


if __name__ == "__main__":
    main()
