"""Event streams of a discussion: one connection has the events of all its runs, and can be resumed."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from tests.api.api_client import LONG_ANSWER, ApiClient, ended_turn, participant_text
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS, ServerSentEvent

pytestmark = pytest.mark.asyncio(loop_scope="module")


class DiscussionStream:
    """A client of the event stream of one discussion; it collects the events by run."""

    def __init__(self) -> None:
        self.frames: list[ServerSentEvent] = []
        self.runs: defaultdict[str, list[Any]] = defaultdict(list)
        self.received = asyncio.Event()

    async def follow_discussion(self, api_client: ApiClient, discussion: str) -> None:
        """Read the stream, with a cursor for each known run."""
        cursors = "".join(f"&after={run}:{len(events)}" for run, events in self.runs.items())
        async with aclosing(api_client.server.events(f"/api/events?discussion={discussion}{cursors}")) as frames:
            async for frame in frames:
                self.frames.append(frame)
                if frame.id is not None:
                    self.runs[frame.data["run"]].append(frame.data)
                self.received.set()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            while not condition():
                self.received.clear()
                await self.received.wait()

    def changed_discussions(self) -> set[str]:
        """Return the discussions that `discussion_changed` named."""
        return {f.data["discussion"]["id"] for f in self.frames if f.data["type"] == "discussion_changed"}

    async def wait_for_run_end(self, run: str, times: int = 1) -> list[Any]:
        """Wait until a run has ended so many times, and return its events."""
        await self.wait_until(lambda: [e["type"] for e in self.runs[run]].count("run_ended") == times)
        return self.runs[run]


@asynccontextmanager
async def open_stream(
    api_client: ApiClient, discussion: str, stream: DiscussionStream | None = None
) -> AsyncIterator[DiscussionStream]:
    stream = stream or DiscussionStream()
    following = asyncio.create_task(stream.follow_discussion(api_client, discussion))
    try:
        seen = len(stream.frames)
        await stream.wait_until(lambda: any(frame.data["type"] == "activity" for frame in stream.frames[seen:]))
        yield stream
        assert not following.done(), following
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_discussion_stream_contains_same_events_as_run_streams(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    async with open_stream(api_client, discussion) as stream:
        runs = [(await api_client.send_message(discussion, "And?"))["run"]["id"]]
        await stream.wait_for_run_end(runs[0])
        await api_client.update_discussion(discussion, participants=["lab/even", "lab/even"], mode="parallel")
        runs.append((await api_client.send_message(discussion, "And then?"))["run"]["id"])
        other_run = (await api_client.create_finished_discussion("lab/quick"))["run"]["id"]
        await stream.wait_for_run_end(runs[1])
        await stream.wait_until(lambda: len(stream.changed_discussions()) == 2)  # also of other discussions
    assert stream.runs.keys() == set(runs)
    for run in runs:
        assert stream.runs[run] == await api_client.server.run_events(run)
    assert not {first, other_run} & stream.runs.keys()


async def test_discussion_stream_contains_interrupted_run_and_next_run(
    api_client: ApiClient,
) -> None:
    opened = await api_client.create_discussion("lab/long")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    async with open_stream(api_client, discussion) as stream:
        await stream.wait_until(lambda: "text_delta" in [e["type"] for e in stream.runs[first]])
        second = (await api_client.send_message(discussion, "Wait."))["run"]["id"]
        assert (await stream.wait_for_run_end(first))[-1]["status"] == "interrupted"
        await stream.wait_until(lambda: "text_delta" in [e["type"] for e in stream.runs[second]])
        await api_client.server.post(f"/api/runs/{second}/stop")
        assert (await stream.wait_for_run_end(second))[-1]["status"] == "stopped"
    for run in (first, second):
        assert stream.runs[run] == await api_client.server.run_events(run)
        assert LONG_ANSWER.startswith(participant_text(stream.runs[run], "alpha"))


async def test_reconnects_to_discussion_stream_miss_and_repeat_no_event(
    api_client: ApiClient,
) -> None:
    opened = await api_client.create_discussion("lab/even", "lab/even", mode="parallel")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    stream = DiscussionStream()
    stream.runs[run] = []
    while not stream.runs[run] or stream.runs[run][-1]["type"] != "run_ended":
        # Counted before the stream opens: its first batch may already hold the end of the run.
        had = len(stream.runs[run])
        async with open_stream(api_client, discussion, stream):
            await stream.wait_until(lambda: len(stream.runs[run]) > had)  # noqa: B023 - at once
    assert stream.runs[run] == await api_client.server.run_events(run)


async def test_retried_run_continues_in_same_discussion_stream(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/quick", "lab/unauthorized", mode="parallel")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    stream = DiscussionStream()
    stream.runs[run] = []
    async with open_stream(api_client, discussion, stream):
        assert ended_turn(await stream.wait_for_run_end(run), "beta")["status"] == "failed"
        again = await api_client.server.post(f"/api/runs/{run}/lanes/beta/retry", {"model": "lab/other"})
        assert again.status == 202, again.text
        events = await stream.wait_for_run_end(run, times=2)
    assert events == await api_client.wait_for_run_end(run)
    late = DiscussionStream()
    async with open_stream(api_client, discussion, late):
        assert not late.runs, "a stream without cursors omits runs that have ended"
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert participant_text(events, "beta") == "Square tables."


async def test_unknown_event_cursor_is_answered_with_resync_of_that_run(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    stream = DiscussionStream()
    stream.runs[run] = [None] * 999
    async with open_stream(api_client, discussion, stream):
        assert (stream.frames[0].event, stream.frames[0].data) == (
            "resync",
            {"type": "resync", "run": run, "after": 0},
        )
        stream.runs[run] = [event for event in stream.runs[run] if event]
        assert await stream.wait_for_run_end(run) == await api_client.server.run_events(run)
