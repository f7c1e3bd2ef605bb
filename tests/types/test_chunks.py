from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.faults import make_fault

COUNT = st.integers(min_value=0, max_value=10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT, st.booleans())
SAMPLE_CHUNKS: tuple[Chunk, ...] = (
    Text("Round."),
    Thought("Who sits where?", "signed"),
    ToolCall("call_1", "look_up", '{"word": "moot"}'),
    Usage(3, 5, reasoning=2, cached=1, cache_written=1, estimated=True),
    Progress(12),
    Done("stop"),
    Failed(make_fault("timeout", "No content came.", retry_after=1.5)),
)


@given(USAGE, USAGE)
def test_usage_adds_up_field_by_field(one: Usage, other: Usage) -> None:
    both = one + other
    for count in ("input", "output", "reasoning", "cached", "cache_written"):
        assert getattr(both, count) == getattr(one, count) + getattr(other, count)


@given(USAGE, USAGE)
def test_usage_sum_is_estimated_when_a_part_is_estimated(one: Usage, other: Usage) -> None:
    assert (one + other).estimated == (one.estimated or other.estimated)


@given(USAGE)
def test_empty_usage_adds_nothing(usage: Usage) -> None:
    assert usage + Usage() == Usage() + usage == usage


def test_chunk_samples_cover_every_type() -> None:
    assert {type(chunk) for chunk in SAMPLE_CHUNKS} == set(get_args(Chunk))


@pytest.mark.parametrize("chunk", SAMPLE_CHUNKS, ids=lambda chunk: type(chunk).__name__)
def test_chunk_survives_json_round_trip(chunk: Chunk) -> None:
    assert msgspec.json.decode(msgspec.json.encode(chunk), type=Chunk) == chunk


def test_chunk_tags_are_unique() -> None:
    tags = [msgspec.to_builtins(chunk)["type"] for chunk in SAMPLE_CHUNKS]
    assert tags == ["text", "thought", "tool_call", "usage", "progress", "done", "failed"]
