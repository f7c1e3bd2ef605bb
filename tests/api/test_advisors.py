"""Discussions with advisors over the API: each advisor has its own thread, and may fail alone."""

import asyncio
from typing import Any

import pytest

from tests.api.api_client import ApiClient, ended_turn
from tests.support.advisor_scripts import MESSAGES
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAREFUL = {"model": "lab/careful", "name": "Careful"}
DARING = {"model": "lab/daring", "name": "Daring"}
PLAIN = {"model": "lab/plain", "name": "Plain"}
QUESTION_PROMPT, ADVICE_PROMPT = "ask the one question", "Answer from where you stand"


class AdvisorDiscussion:
    """A discussion with advisors, and what the provider was sent for the newest message, by model."""

    def __init__(self, api_client: ApiClient) -> None:
        self._api_client = api_client
        self.id = ""
        self.run = ""
        self.sent_messages: dict[str, list[Any]] = {}

    async def send_message(self, message: str, **more: Any) -> list[Any]:
        """Send a message, and return the events of its run."""
        earlier_calls = len(self._api_client.provider_server.request_bodies)
        if self.id:
            self.run = (await self._api_client.send_message(self.id, message))["run"]["id"]
        else:
            opened = await self._api_client.create_discussion(message=message, mode="advisors", **more)
            self.id, self.run = opened["discussion"]["id"], opened["run"]["id"]
        events = await self._api_client.wait_for_run_end(self.run)
        self.sent_messages = {
            body["model"]: body["messages"] for body in self._api_client.provider_server.request_bodies[earlier_calls:]
        }
        return events

    def thread_texts(self, model: str) -> list[tuple[str, str]]:
        return [(one["role"], one["content"]) for one in self.sent_messages[model] if one["role"] != "system"]

    def system_prompt(self, model: str) -> str:
        return str(self.sent_messages[model][0]["content"])


async def test_advisor_thread_skips_failed_turn_and_quotes_only_latest_answers(api_client: ApiClient) -> None:
    advice = AdvisorDiscussion(api_client)
    await advice.send_message(MESSAGES[0], participants=[CAREFUL, DARING, PLAIN], advisors={"question_turns": 2})
    for model in ("careful", "daring", "plain"):
        assert QUESTION_PROMPT in advice.system_prompt(model)
        ((role, text),) = advice.thread_texts(model)
        assert (role, text.partition("] ")[2]) == ("user", MESSAGES[0])

    await api_client.update_discussion(
        advice.id, participants=[CAREFUL, DARING, {**PLAIN, "model": "lab/unauthorized"}]
    )
    events = await advice.send_message(MESSAGES[1])
    failed = ended_turn(events, "plain")
    assert (failed["status"], "Key rejected for lab" in failed["fault"]["message"]) == ("failed", True)
    assert ended_turn(events, "careful")["status"] == "completed"
    assert (await api_client.get_run(advice.run))["status"] == "completed"

    await api_client.update_discussion(advice.id, participants=[CAREFUL, DARING, PLAIN])
    await advice.send_message(MESSAGES[2])
    assert {model: ADVICE_PROMPT in advice.system_prompt(model) for model in advice.sent_messages} == {
        "careful": True,
        "daring": True,
        "plain": False,
    }, "a turn that failed does not count"
    *_, last = advice.thread_texts("careful")
    assert "Daring:\nDaring, answer 2." in last[1], "advisors that answered are quoted"
    assert "Plain" not in last[1]

    await advice.send_message(MESSAGES[3])
    thread = advice.thread_texts("careful")
    own = [text for role, text in thread if role == "assistant"]
    assert own == ["Careful, answer 1.", "Careful, answer 2.", "Careful, answer 3."]
    asked = [text.rpartition("] ")[2] for role, text in thread if role == "user"]
    assert asked == list(MESSAGES)
    block = thread[-1][1]
    assert block.startswith("[What the others answered")
    assert "Daring, answer 3." in block
    assert "Plain, answer 3." in block
    assert "answer 2." not in block
    assert "Between us" not in str(advice.sent_messages), "thoughts are never sent"


async def test_turn_prompt_equals_sent_messages_for_every_advisor_turn(api_client: ApiClient) -> None:
    advice = AdvisorDiscussion(api_client)
    rules = {"question_turns": 0, "cross_talk": True, "synthesis": True, "max_prompt_tokens": 1000}
    for message in MESSAGES:
        await advice.send_message(
            f"{message} {'So it is. ' * 100}", participants=[CAREFUL, DARING, PLAIN], advisors=rules
        )
    bodies = [body["messages"] for body in api_client.provider_server.request_bodies]
    turns = [m for m in (await api_client.get_discussion(advice.id, "?limit=100"))["messages"] if m["participant"]]
    assert len(turns) == 4 * (3 + 3 + 1)
    for turn in turns:
        reply = await api_client.server.get(f"/api/discussions/{advice.id}/turns/{turn['id']}/prompt")
        shown = [
            {"role": one["role"], "content": "\n\n".join(part["text"] for part in one["parts"])}
            for one in reply.body["messages"]
        ]
        assert [{"role": "system", "content": reply.body["system"]}, *shown] in bodies
    assert any(MESSAGES[0] not in str(body) for body in bodies[-7:]), "the oldest turn no longer fitted"


async def test_advisors_run_cross_talk_and_first_advisor_writes_synthesis(api_client: ApiClient) -> None:
    advice = AdvisorDiscussion(api_client)
    silent = {"model": "lab/silent", "name": "Silent"}
    rules = {"cross_talk": True, "synthesis": True}
    events = await advice.send_message(MESSAGES[0], participants=[CAREFUL, DARING, silent], advisors=rules)
    assert [e["stage"] for e in events if e["type"] == "stage_started"] == [
        "answer",
        "cross_talk",
        "synthesis",
    ]
    messages = (await api_client.get_discussion(advice.id))["messages"]
    assert {m["content"] for m in messages if m["stage"] == "cross_talk"} == {
        "Careful to the others.",
        "Daring to the others.",
        "Pass.",
    }
    assert (messages[-1]["role"], messages[-1]["content"]) == ("synthesis", "Careful for all.")
    (daring,) = [m for m in messages if m["participant"] == "daring" and m["stage"] == "answer"]
    assert daring["thoughts"] == "Between us: I would leave."
    await advice.send_message(MESSAGES[1])
    last = advice.thread_texts("careful")[-1][1]
    assert "Daring, to the others:\nDaring to the others." in last
    assert "Silent, to the others" not in last
    assert "for all" not in str(advice.thread_texts("daring")), "a synthesis is for people"


async def test_inactive_advisors_do_not_answer_and_first_answers_plainly_when_none_is_active(
    api_client: ApiClient,
) -> None:
    advice = AdvisorDiscussion(api_client)
    resting = {**DARING, "active": False}
    await advice.send_message(MESSAGES[0], participants=[CAREFUL, resting])
    assert list(advice.sent_messages) == ["careful"]
    await api_client.update_discussion(advice.id, participants=[{**CAREFUL, "active": False}, resting])
    events = await advice.send_message("Two and two?")
    assert list(advice.sent_messages) == ["careful"]
    assert QUESTION_PROMPT not in advice.system_prompt("careful")
    assert "Careful" not in advice.system_prompt("careful")
    assert ended_turn(events, "careful")["message"]["text"] == "Well."


async def test_retry_of_failed_advisor_creates_new_synthesis(api_client: ApiClient) -> None:
    advice = AdvisorDiscussion(api_client)
    broken = {**PLAIN, "model": "lab/unauthorized"}
    await advice.send_message(MESSAGES[0], participants=[CAREFUL, DARING, broken], advisors={"synthesis": True})
    reply = await api_client.server.post(f"/api/runs/{advice.run}/lanes/plain/retry", {"model": "lab/plain"})
    assert reply.status == 202, reply.text
    await api_client.wait_for_run_end(advice.run)
    messages = (await api_client.get_discussion(advice.id))["messages"]
    assert [m["content"] for m in messages if m["participant"] == "plain"] == ["Plain, answer 1."]
    assert len([m for m in messages if m["role"] == "synthesis"]) == 2
    assert len([m for m in messages if m["role"] == "assistant"]) == 3


async def test_estimate_counts_advisor_calls_and_token_rates_are_recorded(api_client: ApiClient) -> None:
    rules = {"cross_talk": True, "synthesis": True}
    body = {"message": "Why?", "mode": "advisors", "participants": [CAREFUL, DARING], "advisors": rules}
    estimate = await api_client.server.post("/api/estimate", body)
    assert estimate.body["forecast"]["calls"] == 2 + 2 + 1

    await AdvisorDiscussion(api_client).send_message(MESSAGES[0], participants=[PLAIN])
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):  # counted after the run has ended
        while True:
            (lab,) = (await api_client.server.get("/api/models?provider=lab")).body
            if "lab/plain" in lab["token_rates"]:
                break
            await asyncio.sleep(0.02)
    assert lab["token_rates"]["lab/plain"]["tokens"] > 0
    assert 3.5 < lab["token_rates"]["lab/plain"]["characters_per_token"] <= 4


async def test_blank_message_to_advisors_is_rejected(api_client: ApiClient) -> None:
    body = {"message": " \n", "mode": "advisors", "participants": ["lab/careful"]}
    reply = await api_client.server.post("/api/discussions", body)
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, "message")
