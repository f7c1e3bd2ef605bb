"""Journeys of a page that is open on one discussion: all it shows comes in one connection, and it may come back."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from tests.api.journey import LONG, Journey, ended, text_of
from tests.serving import SECONDS, Frame

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Page:
    """Keeps what came, the events of each run apart."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.runs: defaultdict[str, list[Any]] = defaultdict(list)
        self.news = asyncio.Event()

    async def watch(self, journey: Journey, discussion: str) -> None:
        """Open the stream, naming all runs that are known."""
        marks = "".join(f"&after={run}:{len(events)}" for run, events in self.runs.items())
        async with aclosing(journey.server.events(f"/api/events?discussion={discussion}{marks}")) as frames:
            async for frame in frames:
                self.frames.append(frame)
                if frame.id is not None:
                    self.runs[frame.data["run"]].append(frame.data)
                self.news.set()

    async def until(self, there: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not there():
                self.news.clear()
                await self.news.wait()

    def changed(self) -> set[str]:
        """Return the discussions of which it was told that they changed."""
        return {f.data["discussion"]["id"] for f in self.frames if f.data["type"] == "discussion_changed"}

    async def over(self, run: str, times: int = 1) -> list[Any]:
        """Wait until a run has ended so often, and return its events."""
        await self.until(lambda: [e["type"] for e in self.runs[run]].count("run_ended") == times)
        return self.runs[run]


@asynccontextmanager
async def opened_page(journey: Journey, discussion: str, page: Page | None = None) -> AsyncIterator[Page]:
    page = page or Page()
    watching = asyncio.create_task(page.watch(journey, discussion))
    try:
        seen = len(page.frames)
        await page.until(lambda: any(frame.data["type"] == "activity" for frame in page.frames[seen:]))
        yield page
        assert not watching.done(), watching
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_every_run_of_a_discussion_comes_in_one_stream_as_in_its_own(journey: Journey) -> None:
    opened = await journey.finished("lab/quick")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    async with opened_page(journey, discussion) as page:
        runs = [(await journey.say(discussion, "And?"))["run"]["id"]]
        await page.over(runs[0])
        await journey.change(discussion, participants=["lab/even", "lab/even"], mode="parallel")
        runs.append((await journey.say(discussion, "And then?"))["run"]["id"])
        elsewhere = (await journey.finished("lab/quick"))["run"]["id"]
        await page.over(runs[1])
        await page.until(lambda: len(page.changed()) == 2)  # changes of others are told too
    assert page.runs.keys() == set(runs)
    for run in runs:
        assert page.runs[run] == await journey.server.heard(run)
    assert not {first, elsewhere} & page.runs.keys()


async def test_a_run_that_is_interrupted_and_the_one_after_it_come_side_by_side(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    async with opened_page(journey, discussion) as page:
        await page.until(lambda: "text_delta" in [e["type"] for e in page.runs[first]])
        second = (await journey.say(discussion, "Wait."))["run"]["id"]
        assert (await page.over(first))[-1]["status"] == "interrupted"
        await page.until(lambda: "text_delta" in [e["type"] for e in page.runs[second]])
        await journey.server.post(f"/api/runs/{second}/stop")
        assert (await page.over(second))[-1]["status"] == "stopped"
    for run in (first, second):
        assert page.runs[run] == await journey.server.heard(run)
        assert LONG.startswith(text_of(page.runs[run], "alpha"))


async def test_a_page_that_comes_and_goes_misses_nothing_and_gets_nothing_twice(journey: Journey) -> None:
    opened = await journey.open("lab/even", "lab/even", mode="parallel")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    page = Page()
    page.runs[run] = []
    while not page.runs[run] or page.runs[run][-1]["type"] != "run_ended":
        async with opened_page(journey, discussion, page):
            had = len(page.runs[run])
            await page.until(lambda: len(page.runs[run]) > had)  # noqa: B023 - at once
    assert page.runs[run] == await journey.server.heard(run)


async def test_a_run_that_is_tried_again_goes_on_in_the_same_stream(journey: Journey) -> None:
    opened = await journey.open("lab/quick", "lab/unauthorized", mode="parallel")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    page = Page()
    page.runs[run] = []
    async with opened_page(journey, discussion, page):
        assert ended(await page.over(run), "beta")["status"] == "failed"
        again = await journey.server.post(f"/api/runs/{run}/lanes/beta/retry", {"model": "lab/other"})
        assert again.status == 202, again.text
        events = await page.over(run, times=2)
    assert events == await journey.over(run)
    late = Page()
    async with opened_page(journey, discussion, late):
        assert not late.runs, "what is over is told to nobody who does not name it"
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert text_of(events, "beta") == "Square tables."


async def test_a_number_that_never_was_is_answered_with_a_resync_of_that_run(journey: Journey) -> None:
    opened = await journey.finished("lab/quick")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    page = Page()
    page.runs[run] = [None] * 999
    async with opened_page(journey, discussion, page):
        assert (page.frames[0].event, page.frames[0].data) == (
            "resync",
            {"type": "resync", "run": run, "after": 0},
        )
        page.runs[run] = [event for event in page.runs[run] if event]
        assert await page.over(run) == await journey.server.heard(run)
