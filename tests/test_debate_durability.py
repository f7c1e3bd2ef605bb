"""A debate resumes after a kill at any point: no answered call is repeated, and no answers are mixed up."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from tests.support import advisor_scripts, debate_scripts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.server_cluster import (
    FakeModelServer,
    ModelCall,
    RunReader,
    ServerCluster,
    completion_chunk,
    start_cluster_with_models,
)
from tests.support.waiting import WAIT_TIMEOUT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST_STAGE = "initial"
PHASES_BY_PROMPT = {
    debate_scripts.SECOND_ANSWER_PROMPT: "debate",
    debate_scripts.SYNTHESIS_PROMPT: "synthesis",
    debate_scripts.DEBATE_SUMMARY_PROMPT: "summary",
    debate_scripts.CLAIMS_PROMPT: "claims",
    debate_scripts.JUDGE_PROMPT: "vote",
    debate_scripts.AGREEMENT_PROMPT: "gate",
    advisor_scripts.CROSS_TALK_PROMPT: "cross_talk",
    advisor_scripts.SYNTHESIS_PROMPT: "together",
}
ANALYSIS_PHASES = {"summary", "claims", "vote", "gate"}
model_numbers = count(1)


def call_phase(call: ModelCall) -> str:
    return next((name for words, name in PHASES_BY_PROMPT.items() if words in call.prompt), FIRST_STAGE)


def call_matcher(script: str, call_stage: str) -> Callable[[ModelCall], bool]:
    return lambda call: call.model.startswith(f"{script}-") and call_phase(call) == call_stage


class DebatingModels(FakeModelServer):
    """Models that debate. A call can be held: its answer never comes, until the server that called is killed."""

    def __init__(self) -> None:
        super().__init__()
        self.hold_rules: list[Callable[[ModelCall], bool]] = []
        self.held_calls: list[ModelCall] = []
        self.rejection_rules: list[Callable[[ModelCall], bool]] = []  # calls that are rejected once

    async def _stream_answer(self, request: web.Request, call: ModelCall) -> web.StreamResponse:
        for rejects in self.rejection_rules:
            if rejects(call):
                self.rejection_rules.remove(rejects)
                return web.json_response({"error": {"message": "No such key."}}, status=401)
        for holds in self.hold_rules:
            if holds(call):
                self.hold_rules.remove(holds)
                self.held_calls.append(call)
                await asyncio.Event().wait()
        script = debate_scripts.DEBATER_SCRIPTS[call.model.partition("-")[0]]
        answer = script.answer_for(call.prompt)
        text = answer if call_phase(call) in ANALYSIS_PHASES else f"#{call.number} {answer}"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(completion_chunk(text) + completion_chunk("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    async def wait_for_held_calls(self, calls: int = 1) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while len(self.held_calls) < calls:
                await asyncio.sleep(0.005)


class DebateCluster(ServerCluster):
    """A server whose models debate."""

    @property
    def models(self) -> DebatingModels:
        assert isinstance(self.model_server, DebatingModels)
        return self.model_server

    async def open_debate(self, *scripts: str, **more: Any) -> tuple[RunReader, list[str]]:
        """Start a debate between models that no other debate uses."""
        names = [f"{script}-{next(model_numbers)}" for script in scripts]
        self.models.held_calls.clear()
        return await self.open_discussion("debate", *names, **more), names

    def call_counts(self, names: list[str]) -> Counter[tuple[str, str]]:
        """Count the calls by script and phase."""
        return Counter(
            (call.model.partition("-")[0], call_phase(call)) for call in self.models.calls if call.model in names
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DebateCluster]:
    async with start_cluster_with_models(
        DebateCluster, DebatingModels(), request.param, tmp_path_factory.mktemp("debates")
    ) as debate_cluster:
        yield debate_cluster


class RetriedRunReader(RunReader):
    """Reads a retried run from its start, past its first end: the stream ends there, and a new one continues."""

    def __init__(self, previous: RunReader) -> None:
        self._previous_length = len(previous.events)
        super().__init__(previous._cluster, previous.discussion, previous.run)

    @property
    def is_finished(self) -> bool:
        return len(self.events) > self._previous_length and super().is_finished


CALLS_WITHOUT_KILL = Counter(
    {
        **{(who, at): 1 for who in ("yes", "no", "perhaps") for at in (FIRST_STAGE, "debate", "vote")},
        **{("yes", at): 1 for at in ("synthesis", "summary", "claims")},
    }
)


def count_finished(events: list[Any]) -> int:
    """Count what is safe: turns that ended and what was found."""
    return len([e for e in events if e["type"] in {"turn_ended", *ANALYSIS_PHASES}])


async def assert_debate_complete(cluster: DebateCluster, run: str) -> None:
    """See that nothing is missing in a debate of three."""
    report = await cluster.get_json(f"/api/runs/{run}")
    assert report["status"] == "completed"
    assert [(one["participant"], one["status"]) for one in report["lanes"]] == [
        (who, "complete") for who in ("alpha", "beta", "gamma")
    ]
    assert len(report["summary"]["per_model"]) == 3
    assert len(report["ranking"]["votes"]) == 3
    assert report["claims"]


def assert_no_repeated_events(events: list[Any]) -> None:
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    ended = [(e["stage"], e["round"], e["participant"]) for e in events if e["type"] == "turn_ended"]
    assert len(ended) == len(set(ended))
    stages = [(e["stage"], e["round"]) for e in events if e["type"] == "stage_started"]
    assert len(stages) == len(set(stages))


@pytest.mark.parametrize(
    ("who", "at", "before"),
    [
        pytest.param("no", FIRST_STAGE, 2, marks=pytest.mark.slow),
        ("no", "debate", 5),
        pytest.param("yes", "synthesis", 11, marks=pytest.mark.slow),
        pytest.param("yes", "summary", 11, marks=pytest.mark.slow),
        pytest.param("yes", "claims", 11, marks=pytest.mark.slow),
        pytest.param("perhaps", "vote", 11, marks=pytest.mark.slow),
    ],
)
async def test_debate_resumes_after_kill_in_each_phase(cluster: DebateCluster, who: str, at: str, before: int) -> None:
    cluster.models.hold_rules.append(call_matcher(who, at))
    reader, names = await cluster.open_debate("yes", "no", "perhaps")
    await reader.wait_until(lambda events: count_finished(events) >= before)
    await cluster.models.wait_for_held_calls()
    await cluster.kill_and_restart()
    assert await reader.wait_for_end() == "completed"
    assert_no_repeated_events(reader.events)
    assert [e["kind"] for e in reader.events if e["type"] == "notice"] == ["resumed"]
    assert cluster.call_counts(names) == CALLS_WITHOUT_KILL + Counter({(who, at): 1}), (
        "only what was cut off is asked again"
    )
    await assert_debate_complete(cluster, reader.run)


async def test_advisors_run_resumes_after_kill(cluster: DebateCluster) -> None:
    cluster.models.hold_rules.append(call_matcher("no", "cross_talk"))
    names = [f"{script}-{next(model_numbers)}" for script in ("yes", "no", "perhaps")]
    reader = await cluster.open_discussion("advisors", *names, advisors={"cross_talk": True, "synthesis": True})
    await reader.wait_until(lambda events: count_finished(events) >= 3 + 2)
    await cluster.models.wait_for_held_calls()
    await cluster.kill_and_restart()
    assert await reader.wait_for_end() == "completed"
    assert_no_repeated_events(reader.events)
    once = Counter({(who, at): 1 for who in ("yes", "no", "perhaps") for at in (FIRST_STAGE, "cross_talk")})
    assert cluster.call_counts(names) == once + Counter({("no", "cross_talk"): 1, ("yes", "together"): 1})
    asked = [
        call.prompt for call in cluster.models.calls if call.model == names[1] and call_phase(call) == "cross_talk"
    ]
    assert len(set(asked)) == 1, "the second call has the same prompt"


async def test_lane_retry_resumes_after_kill(cluster: DebateCluster) -> None:
    cluster.models.rejection_rules.append(call_matcher("perhaps", FIRST_STAGE))
    reader, names = await cluster.open_debate("yes", "no", "perhaps")
    assert await reader.wait_for_end() == "completed"
    first = cluster.call_counts(names)
    assert ("perhaps", "debate") not in first
    cluster.models.hold_rules.append(call_matcher("perhaps", "debate"))
    await cluster.post_until_accepted(f"/api/runs/{reader.run}/lanes/gamma/retry", {})
    again = RetriedRunReader(reader)
    await cluster.models.wait_for_held_calls()
    await again.wait_until(lambda events: any(e.get("kind") == "retried" for e in events))
    await cluster.kill_and_restart()
    assert await again.wait_for_end() == "completed"
    assert again.events[: len(reader.events)] == reader.events
    assert [event["seq"] for event in again.events] == list(range(1, len(again.events) + 1))
    more = cluster.call_counts(names) - first
    assert more == Counter(
        {
            ("perhaps", FIRST_STAGE): 1,
            ("perhaps", "debate"): 2,
            **{(who, "vote"): 1 for who in ("yes", "no", "perhaps")},
            **{("yes", at): 1 for at in ("synthesis", "summary", "claims")},
        }
    ), "what the others answered stays"
    await assert_debate_complete(cluster, reader.run)


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gate", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("who", "at"), [("no", "debate"), pytest.param("yes", "synthesis", marks=pytest.mark.slow)])
async def test_lane_retry_requested_during_run_survives_kill(
    cluster: DebateCluster, who: str, at: str, gate: bool, kills: int
) -> None:
    cluster.models.rejection_rules.append(call_matcher("perhaps", FIRST_STAGE))
    cluster.models.hold_rules += [call_matcher(who, at)] * kills
    reader, _ = await cluster.open_debate("yes", "no", "perhaps", debate={"skip_if_agreed": gate})
    await cluster.models.wait_for_held_calls()
    await cluster.post_until_accepted(f"/api/runs/{reader.run}/lanes/gamma/retry", {})
    for kill in range(1, kills + 1):
        await cluster.models.wait_for_held_calls(kill)
        await cluster.kill_and_restart()
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while (await cluster.get_json(f"/api/runs/{reader.run}"))["status"] in {"waiting", "running"}:
            await asyncio.sleep(0.05)
    again = RunReader(cluster, reader.discussion, reader.run)
    assert await again.wait_for_end() == "completed"
    assert [event["seq"] for event in again.events] == list(range(1, len(again.events) + 1))
    assert not [e for e in again.events if e.get("kind") == "gave_up"]
    await assert_debate_complete(cluster, reader.run)


async def test_retry_of_older_debate_does_not_see_newer_run(
    cluster: DebateCluster,
) -> None:
    cluster.models.rejection_rules.append(call_matcher("perhaps", FIRST_STAGE))
    old, names = await cluster.open_debate("yes", "no", "perhaps")
    assert await old.wait_for_end() == "completed"
    newer = "And then?"
    cluster.models.hold_rules.append(lambda call: call.model == names[1] and newer in call.prompt)
    new = await cluster.send_message(old.discussion)
    await cluster.models.wait_for_held_calls(1)
    await new.wait_until(lambda events: count_finished(events) >= 2)
    calls = len(cluster.models.calls)
    cluster.models.hold_rules.append(call_matcher("perhaps", "debate"))
    await cluster.post_until_accepted(f"/api/runs/{old.run}/lanes/gamma/retry", {})
    await cluster.models.wait_for_held_calls(2)
    retried = [call for call in cluster.models.calls[calls:] if call.model == names[2]]
    assert [call_phase(call) for call in retried] == [FIRST_STAGE, "debate"]
    assert not any(newer in call.prompt for call in retried), "it answers what was asked then"
    again = RetriedRunReader(old)
    await again.wait_until(lambda events: any(e.get("kind") == "retried" for e in events))
    await cluster.kill_and_restart()
    assert await again.wait_for_end() == "completed"
    assert await new.wait_for_end() == "completed"
    assert_no_repeated_events(new.events)
    for reader in (again, new):
        await assert_debate_complete(cluster, reader.run)
        assert {event["run"] for event in reader.events} == {reader.run}
    prompts = [call.prompt for call in cluster.models.calls if call_phase(call) == "debate" and newer in call.prompt]
    answers = {e["message"]["text"] for e in again.events if e["type"] == "turn_ended" and e["stage"] == FIRST_STAGE}
    assert len(prompts) == 3
    for prompt in prompts:
        instructions = prompt.partition(debate_scripts.SECOND_ANSWER_PROMPT)[2]
        assert not any(words and words in instructions for words in answers)


async def test_lanes_retried_together_see_each_others_answers(cluster: DebateCluster) -> None:
    cluster.models.rejection_rules += [call_matcher("no", FIRST_STAGE), call_matcher("perhaps", "debate")]
    reader, names = await cluster.open_debate("yes", "no", "perhaps")
    assert await reader.wait_for_end() == "completed"
    report = await cluster.get_json(f"/api/runs/{reader.run}")
    assert [lane["status"] for lane in report["lanes"]] == ["complete", "error", "error"]
    await cluster.post_until_accepted(f"/api/runs/{reader.run}/retry-failed", {})
    assert await RetriedRunReader(reader).wait_for_end() == "completed"
    *_, last = [call for call in cluster.models.calls_to_model(names[2]) if call_phase(call) == "debate"]
    assert debate_scripts.NO in last.prompt, "it contains the new answer of Beta"
    assert last.prompt.count(debate_scripts.SECOND_ANSWER_PROMPT) == 1
    await assert_debate_complete(cluster, reader.run)
