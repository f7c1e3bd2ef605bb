"""Conversations over the API: who answers, and which messages each participant is sent."""

from typing import Any

import pytest

from tests.api.api_client import ApiClient

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_discussion_changes_apply_to_next_message(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", message="Which tables are best?")
    discussion = opened["discussion"]["id"]
    changed = await api_client.update_discussion(
        discussion,
        title="Tables",
        mode="parallel",
        participants=["lab/quick", {"model": "lab/other", "name": "Carpenter", "temperature": 0.5}],
        rounds=3,
        language="de",
        model="lab/other",
    )
    assert (changed["title"], changed["mode"], changed["rounds"]) == ("Tables", "parallel", 3)
    await api_client.server.run_events((await api_client.send_message(discussion, "And now?"))["run"]["id"])
    answers = (await api_client.list_answers(discussion))[1:]
    assert {(m["name"], m["model"], m["content"]) for m in answers} == {
        ("Alpha", "lab/other", "Square tables."),
        ("Carpenter", "lab/other", "Square tables."),
    }
    assert any("German" in str(body["messages"][0]) for body in api_client.provider_server.request_bodies[-2:])

    await api_client.update_discussion(discussion, model=None, mode="single")
    await api_client.server.run_events((await api_client.send_message(discussion, "Alone?"))["run"]["id"])
    last = (await api_client.list_answers(discussion))[-1]
    assert (last["name"], last["model"], last["content"]) == ("Alpha", "lab/quick", "Round tables.")

    before = await api_client.get_discussion(discussion)
    assert await api_client.update_discussion(discussion) == before["discussion"], "an empty change changes nothing"


async def test_message_with_recipients_is_answered_only_by_them(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", mode="parallel")
    discussion = opened["discussion"]["id"]
    sent = await api_client.send_message(discussion, "Only you.", to=["beta"])
    await api_client.server.run_events(sent["run"]["id"])
    assert sent["message"]["visible_to"] == ["beta"]
    assert [m["participant"] for m in await api_client.list_answers(discussion)][2:] == ["beta"]
    reply = await api_client.server.post(
        f"/api/discussions/{discussion}/messages", {"message": "Who?", "to": ["omega"]}
    )
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, "to")


async def test_consensus_of_two_in_two_rounds_stores_four_messages(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", mode="consensus", rounds=2)
    answers = await api_client.list_answers(opened["discussion"]["id"])
    assert [(m["round"], m["participant"]) for m in answers] == [
        (0, "alpha"),
        (0, "beta"),
        (1, "alpha"),
        (1, "beta"),
    ]
    last = str(api_client.provider_server.request_bodies[-1]["messages"])
    assert last.count("Round tables.") == 2
    assert last.count("Square tables.") == 1


async def test_continue_starts_after_last_speaker_and_wraps_around(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", "lab/even", mode="single")
    path = f"/api/discussions/{opened['discussion']['id']}/continue"
    once = await api_client.server.post(path)
    assert (once.status, once.body["message"]) == (202, None)
    await api_client.server.run_events(once.body["run"]["id"])
    more = await api_client.server.post(path, {"turns": 3})
    await api_client.server.run_events(more.body["run"]["id"])
    spoke = [m["participant"] for m in await api_client.list_answers(opened["discussion"]["id"])]
    assert spoke == ["alpha", "beta", "gamma", "alpha", "beta"]


async def test_stop_ends_continued_run_and_second_continue_conflicts(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/long", mode="single")
    path = f"/api/discussions/{opened['discussion']['id']}/continue"
    run = (await api_client.server.post(path, {"turns": 50})).body["run"]["id"]
    await api_client.wait_for_text(run, "beta")
    busy = await api_client.server.post(path)
    assert (busy.status, run in busy.body["detail"]) == (409, True)
    await api_client.server.post(f"/api/runs/{run}/stop")
    events = await api_client.server.run_events(run)
    assert [e["participant"] for e in events if e["type"] == "turn_ended"] == ["beta"]
    assert events[-1]["status"] == "stopped"


async def test_failed_lane_stores_fault_and_other_lanes_complete(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion(
        "lab/unauthorized", "openai/gpt-5-mini", "lab/quick", mode="parallel"
    )
    answers = {m["participant"]: m for m in await api_client.list_answers(opened["discussion"]["id"])}
    assert {who: m["status"] for who, m in answers.items()} == {
        "alpha": "failed",
        "beta": "failed",
        "gamma": "completed",
    }
    assert "Key rejected for lab" in answers["alpha"]["fault"]["message"]
    assert "OPENAI_API_KEY" in answers["beta"]["fault"]["message"]
    assert (await api_client.get_run(opened["run"]["id"]))["status"] == "completed"
    without_answers = await api_client.create_finished_discussion("openai/gpt-5-mini")
    assert (await api_client.get_run(without_answers["run"]["id"]))["status"] == "failed"


async def test_turn_prompt_equals_messages_sent_to_provider(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", mode="consensus", rounds=2)
    discussion = opened["discussion"]["id"]
    await api_client.server.run_events((await api_client.send_message(discussion, "So what now?"))["run"]["id"])
    sent = api_client.provider_server.request_bodies[-8:]
    for answer, body in zip(await api_client.list_answers(discussion), sent, strict=True):
        shown = await api_client.server.get(f"/api/discussions/{discussion}/turns/{answer['id']}/prompt")
        assert shown.status == 200
        assert to_provider_messages(shown.body) == body["messages"]
    asked = (await api_client.get_discussion(discussion))["messages"][0]["id"]
    no_turn = await api_client.server.get(f"/api/discussions/{discussion}/turns/{asked}/prompt")
    assert no_turn.status == 404


def to_provider_messages(prompt: Any) -> list[Any]:
    """Return a prompt as messages in the OpenAI format, which the provider `lab` uses."""
    messages = [
        {"role": m["role"], "content": "\n\n".join(part["text"] for part in m["parts"])} for m in prompt["messages"]
    ]
    return [{"role": "system", "content": prompt["system"]}, *messages]
