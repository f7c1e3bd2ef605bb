"""A debate goes on wherever its server was killed: what was answered is not asked again, and nothing is mixed up."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from tests.api import advising, debating
from tests.chaos import Call, Ledger, Reader, Site, _delta, manned
from tests.databases import SLOW_ON_POSTGRES
from tests.store.hearing import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST = "initial"
PHASES = {
    debating.SECOND: "debate",
    debating.SYNTHESIS: "synthesis",
    debating.MINUTES: "summary",
    debating.LEDGER: "ledger",
    debating.JUDGE: "ballot",
    debating.GATE: "gate",
    advising.CROSS: "cross_talk",
    advising.TOGETHER: "together",
}
FINDINGS = {"summary", "ledger", "ballot", "gate"}
numbers = count(1)


def phase(call: Call) -> str:
    return next((name for words, name in PHASES.items() if words in call.prompt), FIRST)


def calls_to(script: str, at: str) -> Callable[[Call], bool]:
    return lambda call: call.model.startswith(f"{script}-") and phase(call) == at


class Debaters(Ledger):
    """Models that debate. One call can be held back: its answer never comes, and whoever asked has to be killed."""

    def __init__(self) -> None:
        super().__init__()
        self.holds: list[Callable[[Call], bool]] = []
        self.held: list[Call] = []
        self.refusals: list[Callable[[Call], bool]] = []  # calls that are refused once

    async def _speak(self, request: web.Request, call: Call) -> web.StreamResponse:
        for refuse in self.refusals:
            if refuse(call):
                self.refusals.remove(refuse)
                return web.json_response({"error": {"message": "No such key."}}, status=401)
        for hold in self.holds:
            if hold(call):
                self.holds.remove(hold)
                self.held.append(call)
                await asyncio.Event().wait()
        script = debating.TABLE[call.model.partition("-")[0]]
        answer = script.answer_for(call.prompt)
        words = answer if phase(call) in FINDINGS else f"#{call.number} {answer}"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_delta(words) + _delta("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    async def are_held(self, calls: int = 1) -> None:
        async with asyncio.timeout(SECONDS):
            while len(self.held) < calls:
                await asyncio.sleep(0.005)


class Hall(Site):
    """A server, and models that debate behind it."""

    @property
    def models(self) -> Debaters:
        assert isinstance(self.ledger, Debaters)
        return self.ledger

    async def debate(self, *scripts: str, **more: Any) -> tuple[Reader, list[str]]:
        """Open a debate between models that nobody else has."""
        names = [f"{script}-{next(numbers)}" for script in scripts]
        self.models.held.clear()
        return await self.open("debate", *names, **more), names

    def asked(self, names: list[str]) -> Counter[tuple[str, str]]:
        """How often each was asked, and for what."""
        return Counter(
            (call.model.partition("-")[0], phase(call)) for call in self.models.calls if call.model in names
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def hall(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Hall]:
    async with manned(Hall, Debaters(), request.param, tmp_path_factory.mktemp("hall")) as hall:
        yield hall


class Again(Reader):
    """Reads a run from its beginning past the end that it had: a stream ends there, and goes on for who comes back."""

    def __init__(self, before: Reader) -> None:
        self._past = len(before.events)
        super().__init__(before._site, before.discussion, before.run)

    @property
    def over(self) -> bool:
        return len(self.events) > self._past and super().over


ONCE = Counter(
    {
        **{(who, at): 1 for who in ("yes", "no", "perhaps") for at in (FIRST, "debate", "ballot")},
        **{("yes", at): 1 for at in ("synthesis", "summary", "ledger")},
    }
)


def done(events: list[Any]) -> int:
    """Count what is safe: turns that ended and what was found."""
    return len([e for e in events if e["type"] in {"turn_ended", *FINDINGS}])


async def is_whole(hall: Hall, run: str) -> None:
    """See that nothing is missing in a debate of three."""
    report = await hall.get(f"/api/runs/{run}")
    assert report["status"] == "completed"
    assert [(one["participant"], one["status"]) for one in report["lanes"]] == [
        (who, "complete") for who in ("alpha", "beta", "gamma")
    ]
    assert len(report["summary"]["perModel"]) == 3
    assert len(report["ranking"]["ballots"]) == 3
    assert report["claims"]


def is_told_once(events: list[Any]) -> None:
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ended = [(e["stage"], e["round"], e["participant"]) for e in events if e["type"] == "turn_ended"]
    assert len(ended) == len(set(ended))
    stages = [(e["stage"], e["round"]) for e in events if e["type"] == "stage_started"]
    assert len(stages) == len(set(stages))


@pytest.mark.parametrize(
    ("who", "at", "before"),
    [
        pytest.param("no", FIRST, 2, marks=pytest.mark.slow),
        ("no", "debate", 5),
        pytest.param("yes", "synthesis", 11, marks=pytest.mark.slow),
        pytest.param("yes", "summary", 11, marks=pytest.mark.slow),
        pytest.param("yes", "ledger", 11, marks=pytest.mark.slow),
        pytest.param("perhaps", "ballot", 11, marks=pytest.mark.slow),
    ],
)
async def test_a_debate_goes_on_in_whatever_phase_it_was_killed(
    hall: Hall, who: str, at: str, before: int
) -> None:
    hall.models.holds.append(calls_to(who, at))
    reader, names = await hall.debate("yes", "no", "perhaps")
    await reader.until(lambda events: done(events) >= before)
    await hall.models.are_held()
    await hall.killed()
    assert await reader.ended() == "completed"
    is_told_once(reader.events)
    assert [e["kind"] for e in reader.events if e["type"] == "notice"] == ["resumed"]
    assert hall.asked(names) == ONCE + Counter({(who, at): 1}), "only what was cut off is asked again"
    await is_whole(hall, reader.run)


async def test_advisors_go_on_where_they_were_killed(hall: Hall) -> None:
    hall.models.holds.append(calls_to("no", "cross_talk"))
    names = [f"{script}-{next(numbers)}" for script in ("yes", "no", "perhaps")]
    reader = await hall.open("advisors", *names, advisors={"cross_talk": True, "synthesis": True})
    await reader.until(lambda events: done(events) >= 3 + 2)
    await hall.models.are_held()
    await hall.killed()
    assert await reader.ended() == "completed"
    is_told_once(reader.events)
    once = Counter({(who, at): 1 for who in ("yes", "no", "perhaps") for at in (FIRST, "cross_talk")})
    assert hall.asked(names) == once + Counter({("no", "cross_talk"): 1, ("yes", "together"): 1})
    asked = [
        call.prompt for call in hall.models.calls if call.model == names[1] and phase(call) == "cross_talk"
    ]
    assert len(set(asked)) == 1, "it is told the same again"


async def test_a_retry_goes_on_when_it_was_killed(hall: Hall) -> None:
    hall.models.refusals.append(calls_to("perhaps", FIRST))
    reader, names = await hall.debate("yes", "no", "perhaps")
    assert await reader.ended() == "completed"
    first = hall.asked(names)
    assert ("perhaps", "debate") not in first
    hall.models.holds.append(calls_to("perhaps", "debate"))
    await hall.ask(f"/api/runs/{reader.run}/lanes/gamma/retry", {})
    again = Again(reader)
    await hall.models.are_held()
    await again.until(lambda events: any(e.get("kind") == "retried" for e in events))
    await hall.killed()
    assert await again.ended() == "completed"
    assert again.events[: len(reader.events)] == reader.events
    assert [event["seq"] for event in again.events] == list(range(1, len(again.events) + 1))
    more = hall.asked(names) - first
    assert more == Counter(
        {
            ("perhaps", FIRST): 1,
            ("perhaps", "debate"): 2,
            **{(who, "ballot"): 1 for who in ("yes", "no", "perhaps")},
            **{("yes", at): 1 for at in ("synthesis", "summary", "ledger")},
        }
    ), "what the others answered stays"
    await is_whole(hall, reader.run)


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gate", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("who", "at"), [("no", "debate"), pytest.param("yes", "synthesis", marks=pytest.mark.slow)]
)
async def test_a_retry_that_came_while_others_spoke_outlives_a_kill(
    hall: Hall, who: str, at: str, gate: bool, kills: int
) -> None:
    hall.models.refusals.append(calls_to("perhaps", FIRST))
    hall.models.holds += [calls_to(who, at)] * kills
    reader, _ = await hall.debate("yes", "no", "perhaps", debate={"gate": gate})
    await hall.models.are_held()
    await hall.ask(f"/api/runs/{reader.run}/lanes/gamma/retry", {})
    for kill in range(1, kills + 1):
        await hall.models.are_held(kill)
        await hall.killed()
    async with asyncio.timeout(SECONDS):
        while (await hall.get(f"/api/runs/{reader.run}"))["status"] in {"waiting", "running"}:
            await asyncio.sleep(0.05)
    again = Reader(hall, reader.discussion, reader.run)
    assert await again.ended() == "completed"
    assert [event["seq"] for event in again.events] == list(range(1, len(again.events) + 1))
    assert not [e for e in again.events if e.get("kind") == "gave_up"]
    await is_whole(hall, reader.run)


async def test_an_older_debate_that_is_tried_again_beside_a_newer_one_does_not_mix_with_it(
    hall: Hall,
) -> None:
    hall.models.refusals.append(calls_to("perhaps", FIRST))
    old, names = await hall.debate("yes", "no", "perhaps")
    assert await old.ended() == "completed"
    newer = "And then?"
    hall.models.holds.append(lambda call: call.model == names[1] and newer in call.prompt)
    new = await hall.say(old.discussion)
    await hall.models.are_held(1)
    await new.until(lambda events: done(events) >= 2)
    calls = len(hall.models.calls)
    hall.models.holds.append(calls_to("perhaps", "debate"))
    await hall.ask(f"/api/runs/{old.run}/lanes/gamma/retry", {})
    await hall.models.are_held(2)
    retried = [call for call in hall.models.calls[calls:] if call.model == names[2]]
    assert [phase(call) for call in retried] == [FIRST, "debate"]
    assert not any(newer in call.prompt for call in retried), "it answers what was asked then"
    again = Again(old)
    await again.until(lambda events: any(e.get("kind") == "retried" for e in events))
    await hall.killed()
    assert await again.ended() == "completed"
    assert await new.ended() == "completed"
    is_told_once(new.events)
    for reader in (again, new):
        await is_whole(hall, reader.run)
        assert {event["run"] for event in reader.events} == {reader.run}
    briefs = [call.prompt for call in hall.models.calls if phase(call) == "debate" and newer in call.prompt]
    answers = {
        e["message"]["text"] for e in again.events if e["type"] == "turn_ended" and e["stage"] == FIRST
    }
    assert len(briefs) == 3
    for prompt in briefs:
        told = prompt.partition(debating.SECOND)[2]
        assert not any(words and words in told for words in answers)


async def test_those_who_try_again_together_read_each_other(hall: Hall) -> None:
    hall.models.refusals += [calls_to("no", FIRST), calls_to("perhaps", "debate")]
    reader, names = await hall.debate("yes", "no", "perhaps")
    assert await reader.ended() == "completed"
    report = await hall.get(f"/api/runs/{reader.run}")
    assert [lane["status"] for lane in report["lanes"]] == ["complete", "error", "error"]
    await hall.ask(f"/api/runs/{reader.run}/retry-failed", {})
    assert await Again(reader).ended() == "completed"
    *_, last = [call for call in hall.models.of(names[2]) if phase(call) == "debate"]
    assert debating.NO in last.prompt, "what Beta answered in the meantime"
    assert last.prompt.count(debating.SECOND) == 1
    await is_whole(hall, reader.run)
