"""Versions of answers over the API: regenerated, edited and selected, and failed turns that are retried."""

from typing import Any

import pytest

from tests.api.api_client import ApiClient, ended_turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODE_SETUPS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "single": (("lab/quick",), {}),
    "parallel": (("lab/quick", "lab/other"), {}),
    "consensus": (("lab/quick", "lab/other"), {"rounds": 2}),
    "debate": (("lab/yes", "lab/no"), {}),
    "advisors": (("lab/careful", "lab/daring"), {"advisors": {"cross_talk": True, "synthesis": True}}),
    "directed": (("lab/drawer", "lab/listener"), {"directed": {"turns": 2}}),
}


def participant_turns(detail: Any) -> list[Any]:
    return [m for m in detail["messages"] if m["participant"]]


class Turn:
    """The routes of one turn of a discussion."""

    def __init__(self, api_client: ApiClient, discussion: str, id: str) -> None:
        self.api_client = api_client
        self.discussion = discussion
        self.path = f"/api/discussions/{discussion}/turns/{id}"

    async def regenerate(self, **body: Any) -> list[Any]:
        """Regenerate the turn, and return the events of that run."""
        reply = await self.api_client.server.post(f"{self.path}/regenerate", body)
        assert (reply.status, reply.body["message"]) == (202, None), reply.text
        return await self.api_client.server.run_events(reply.body["run"]["id"])

    async def edit(self, text: str) -> Any:
        reply = await self.api_client.server.call("PATCH", self.path, {"content": text})
        assert reply.status == 200, reply.text
        return reply.body

    async def select_version(self, version: str) -> Any:
        reply = await self.api_client.server.post(f"{self.path}/select", {"version": version})
        assert reply.status == 200, reply.text
        return reply.body

    async def versions(self) -> Any:
        reply = await self.api_client.server.get(f"{self.path}/versions")
        assert reply.status == 200, reply.text
        return reply.body

    async def prompt(self) -> Any:
        reply = await self.api_client.server.get(f"{self.path}/prompt")
        assert reply.status == 200, reply.text
        return reply.body


@pytest.mark.parametrize("mode", MODE_SETUPS)
async def test_regenerate_sends_same_prompt_in_every_mode(api_client: ApiClient, mode: str) -> None:
    models, more = MODE_SETUPS[mode]
    start = len(api_client.provider_server.request_bodies)
    opened = await api_client.create_finished_discussion(*models, mode=mode, message="I want to leave.", **more)
    discussion = opened["discussion"]["id"]
    sent = api_client.provider_server.request_bodies[start:]
    before = await api_client.get_discussion(discussion)
    turns, sent_again = participant_turns(before), []
    for answer in turns:
        turn = Turn(api_client, discussion, answer["id"])
        prompt, start = await turn.prompt(), len(api_client.provider_server.request_bodies)
        events = await turn.regenerate()
        assert events[0]["regenerates"] == answer["id"]
        regenerated = ended_turn(events, answer["participant"])
        assert (regenerated["stage"], regenerated["round"]) == (answer["stage"], answer["round"])
        assert (regenerated["status"], events[-1]["status"]) == ("completed", "completed")
        (body,) = api_client.provider_server.request_bodies[start:]
        sent_again.append(body)
        assert await turn.prompt() == prompt, "the version has the same prompt"
    assert all(body in sent for body in sent_again)
    assert len({str(body) for body in sent_again}) == len(turns)
    after = await api_client.get_discussion(discussion)
    assert [m["id"] for m in after["messages"]] == [m["id"] for m in before["messages"]]
    assert {(m["version"], m["versions"]) for m in participant_turns(after)} == {(2, 2)}
    assert [m["content"] for m in after["messages"]] == [m["content"] for m in before["messages"]]


async def test_regenerated_version_with_other_model_replaces_first_version(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", mode="single")
    discussion = opened["discussion"]["id"]
    (first,) = await api_client.list_answers(discussion)
    turn = Turn(api_client, discussion, first["id"])
    reply = await api_client.server.post(f"{turn.path}/regenerate", {"model": "lab/other"})
    run = reply.body["run"]
    assert (run["regenerates"], run["message"]) == (first["id"], None)
    await api_client.server.run_events(run["id"])
    assert (await api_client.get_run(run["id"]))["regenerates"] == first["id"]
    (now,) = await api_client.list_answers(discussion)
    same = ("id", "seq", "run", "participant", "stage", "round", "created_at")
    assert [now[name] for name in same] == [first[name] for name in same]
    assert (now["content"], now["model"]) == ("Square tables.", "lab/other")
    listed = await turn.versions()
    assert [(one["version"], one["content"]) for one in listed["versions"]] == [
        (1, "Round tables."),
        (2, "Square tables."),
    ]
    assert listed["current"] == now["version_id"] == listed["versions"][1]["id"]
    assert [one["version_of"] for one in listed["versions"]] == [None, first["id"]]
    assert (await turn.prompt())["model"] == "lab/other"


async def test_regenerated_version_is_shown_in_lane_and_debate_report_is_unchanged(
    api_client: ApiClient,
) -> None:
    opened = await api_client.create_finished_discussion("lab/yes", "lab/no", mode="debate")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    before = await api_client.get_run(run)
    first = next(m for m in await api_client.list_answers(discussion) if m["participant"] == "beta")
    await Turn(api_client, discussion, first["id"]).regenerate(model="lab/other")
    thread = (await api_client.server.get(f"/api/runs/{run}/lanes/beta/messages")).body
    shown = {m["id"]: m["content"] for m in participant_turns(thread)}
    assert (len(shown), shown[first["id"]]) == (2, "Square tables.")
    assert await api_client.get_run(run) == before


async def test_regenerated_turn_replaces_its_whiteboard_drawings(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/drawer", mode="directed", directed={"turns": 1})
    discussion = opened["discussion"]["id"]
    (first,) = await api_client.list_answers(discussion)
    turn = Turn(api_client, discussion, first["id"])

    async def get_element_ids() -> list[str]:
        board = (await api_client.server.get(f"/api/discussions/{discussion}/whiteboard")).body
        return [one["id"] for one in board["elements"]]

    assert await get_element_ids() == ["one", "two"]
    assert (await turn.edit("Look at both."))["content"] == "Look at both."
    assert await get_element_ids() == ["one", "two"], "words were edited, not what was drawn"
    await turn.regenerate(model="lab/listener")
    assert await get_element_ids() == []
    await turn.select_version(first["id"])
    assert await get_element_ids() == ["one", "two"]


async def test_failed_regeneration_changes_nothing_and_can_be_retried(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", mode="single")
    discussion = opened["discussion"]["id"]
    before = await api_client.get_discussion(discussion)
    turn = Turn(api_client, discussion, participant_turns(before)[0]["id"])
    events = await turn.regenerate(model="lab/shy-again")
    assert (ended_turn(events, "alpha")["status"], events[-1]["status"]) == ("failed", "failed")
    assert (await api_client.get_discussion(discussion))["messages"] == before["messages"]
    assert len((await turn.versions())["versions"]) == 1
    run = events[0]["run"]
    retried = await api_client.server.post(f"/api/runs/{run}/lanes/alpha/retry")
    assert retried.status == 202, retried.text
    await api_client.wait_for_run_end(run)
    assert participant_turns(await api_client.get_discussion(discussion))[0]["content"] == "Here I am."


async def test_edited_text_is_sent_next_and_earlier_version_can_be_selected(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", mode="single")
    discussion = opened["discussion"]["id"]
    asked, answer = (await api_client.get_discussion(discussion))["messages"]
    turn = Turn(api_client, discussion, answer["id"])
    edited = await turn.edit("Oval tables.")
    assert (edited["id"], edited["content"], edited["edited"]) == (answer["id"], "Oval tables.", True)
    assert (edited["version"], edited["versions"]) == (2, 2)
    question = await Turn(api_client, discussion, asked["id"]).edit("What was a moot?")
    assert (question["id"], question["role"], question["edited"]) == (asked["id"], "user", True)
    await api_client.server.run_events((await api_client.send_message(discussion, "And then?"))["run"]["id"])
    assert str(api_client.provider_server.request_bodies[-1]).count("Oval tables.") == 1
    assert "Round tables." not in str(api_client.provider_server.request_bodies[-1])
    assert "What was a moot?" in str(api_client.provider_server.request_bodies[-1])
    later = Turn(api_client, discussion, (await api_client.list_answers(discussion))[-1]["id"])
    prompt = await later.prompt()
    selected = await turn.select_version(answer["id"])
    assert (selected["content"], selected["version"], selected["versions"]) == ("Round tables.", 1, 2)
    assert (selected["version_id"], selected["edited"]) == (answer["id"], False)
    assert await turn.select_version(answer["id"]) == selected, "it is selected already"
    assert [one["content"] for one in (await turn.versions())["versions"]] == [
        "Round tables.",
        "Oval tables.",
    ]
    assert await later.prompt() == prompt, "the prompt of an earlier call does not change"
    found = await api_client.server.get("/api/discussions?q=oval")
    assert discussion not in [one["id"] for one in found.body["discussions"]]


async def test_message_pages_contain_every_turn_once_with_many_versions(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", mode="single")
    discussion = opened["discussion"]["id"]
    await api_client.server.run_events((await api_client.send_message(discussion, "And then?"))["run"]["id"])
    whole = (await api_client.get_discussion(discussion))["messages"]
    for place in range(3):
        for one in whole:
            await Turn(api_client, discussion, one["id"]).edit(f"{one['role']} {place}")
    pages: list[Any] = []
    before = ""
    while True:
        read = await api_client.get_discussion(discussion, f"?limit=1{before}")
        pages = [*read["messages"], *pages]
        if read["before"] is None:
            break
        before = f"&before={read['before']}"
    assert [m["id"] for m in pages] == [m["id"] for m in whole]
    assert [(m["content"], m["version"], m["versions"]) for m in pages] == [
        ("user 2", 4, 4),
        ("assistant 2", 4, 4),
    ] * 2


async def test_regenerate_edit_and_select_conflict_while_run_is_active(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/long", mode="single")
    discussion = opened["discussion"]["id"]
    (answer,) = await api_client.list_answers(discussion)
    turn = Turn(api_client, discussion, answer["id"])
    run = (await api_client.server.post(f"/api/discussions/{discussion}/continue")).body["run"]["id"]
    await api_client.wait_for_text(run, "beta")
    for reply in (
        await api_client.server.post(f"{turn.path}/regenerate"),
        await api_client.server.call("PATCH", turn.path, {"content": "No."}),
        await api_client.server.post(f"{turn.path}/select", {"version": answer["id"]}),
    ):
        assert (reply.status, run in reply.body["detail"]) == (409, True)
    await api_client.server.post(f"/api/runs/{run}/stop")
    await api_client.server.run_events(run)
    stopped = (await api_client.list_answers(discussion))[-1]
    path = f"/api/discussions/{discussion}/turns/{stopped['id']}/regenerate"
    rejected = await api_client.server.post(path)
    assert (rejected.status, f"lanes/{stopped['participant']}/retry" in rejected.body["detail"]) == (409, True)


@pytest.mark.parametrize("mode", ["single", "parallel", "consensus", "debate", "advisors", "directed"])
async def test_failed_turn_can_be_retried_in_every_mode(api_client: ApiClient, mode: str) -> None:
    others = () if mode == "single" else ("lab/listener" if mode == "directed" else "lab/quick",)
    rules = {"directed": {"turns": 1}} if mode == "directed" else {}
    opened = await api_client.create_finished_discussion(f"lab/shy-{mode}", *others, mode=mode, rounds=1, **rules)
    run, discussion = opened["run"]["id"], opened["discussion"]["id"]
    failed = [m["status"] for m in await api_client.list_answers(discussion) if m["participant"] == "alpha"]
    assert failed == ["failed"]
    retried = await api_client.server.post(f"/api/runs/{run}/lanes/alpha/retry")
    assert retried.status == 202, retried.text
    await api_client.wait_for_run_end(run)
    mine = [m for m in await api_client.list_answers(discussion) if m["participant"] == "alpha"]
    assert {(m["status"], m["content"]) for m in mine} == {("completed", "Here I am.")}
