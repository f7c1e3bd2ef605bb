"""Lists over the API: discussions, messages and presets, with search and pages."""

from urllib.parse import quote

import pytest

from tests.api.api_client import ApiClient

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_discussion_list_is_newest_first_and_paginated(api_client: ApiClient) -> None:
    opened = [
        (await api_client.create_finished_discussion("lab/quick", message=f"On paging, part {part}"))["discussion"][
            "id"
        ]
        for part in range(3)
    ]
    first = (await api_client.server.get("/api/discussions?limit=2")).body
    assert [one["id"] for one in first["discussions"]] == [opened[2], opened[1]]
    second = (await api_client.server.get(f"/api/discussions?limit=1&cursor={quote(first['next'])}")).body
    assert [one["id"] for one in second["discussions"]] == [opened[0]]

    await api_client.server.run_events((await api_client.send_message(opened[0], "Newer again."))["run"]["id"])
    newest = (await api_client.server.get("/api/discussions?limit=1")).body
    assert newest["discussions"][0]["id"] == opened[0]

    archived = await api_client.server.post(f"/api/discussions/{opened[1]}/archive")
    assert (archived.status, archived.body["status"]) == (200, "archived")
    archive = (await api_client.server.get("/api/discussions?status=archived")).body
    assert [one["id"] for one in archive["discussions"]] == [opened[1]]


async def test_discussion_search_matches_titles_and_messages(api_client: ApiClient) -> None:
    titled = await api_client.create_finished_discussion("lab/quick", message="Hello", title="Concerning xylophones")
    asked = await api_client.create_finished_discussion("lab/echo", message="Does a xylophone have strings?")
    path = "/api/discussions?q="
    found = {one["id"] for one in (await api_client.server.get(f"{path}xylophon")).body["discussions"]}
    assert found == {titled["discussion"]["id"], asked["discussion"]["id"]}
    strings = (await api_client.server.get(f"{path}xylophone%20strings")).body["discussions"]
    assert [one["id"] for one in strings] == [asked["discussion"]["id"]]
    for odd in ("%22", "'", "*", "a%20OR%20b", "NEAR(", "\u2028", "%25", "%F0%9F%8E%B6"):
        assert (await api_client.server.get(path + odd)).status == 200


async def test_preset_can_be_stored_and_used_to_create_discussion(api_client: ApiClient) -> None:
    preset = {
        "participants": [{"model": "lab/quick", "name": "Rosa", "temperature": 0.5}, "lab/other"],
        "mode": "consensus",
        "rounds": 1,
    }
    stored = await api_client.server.post("/api/presets", {"name": "Two tables", **preset})
    assert stored.status == 201, stored.text
    (found,) = (await api_client.server.get("/api/presets")).body["presets"]
    assert found == stored.body
    own = {"id", "name", "created_at"}
    sent = {name: value for name, value in found.items() if name not in own}
    opened = (await api_client.server.post("/api/discussions", {"message": "Which?", **sent})).body
    await api_client.server.run_events(opened["run"]["id"])
    assert {name: opened["discussion"][name] for name in sent} == sent
    answers = [answer["content"] for answer in await api_client.list_answers(opened["discussion"]["id"])]
    assert answers == ["Round tables.", "Square tables."]

    path = f"/api/presets/{found['id']}"
    assert (await api_client.server.call("PATCH", path, {"rounds": 2})).body["rounds"] == 2
    assert (await api_client.server.call("DELETE", path)).status == 204
    assert (await api_client.server.get("/api/presets")).body == {"presets": [], "next": None}
    assert (await api_client.get_discussion(opened["discussion"]["id"]))["discussion"]["rounds"] == 1


async def test_message_list_is_paginated(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", mode="consensus", rounds=3)
    discussion = opened["discussion"]["id"]
    everything = (await api_client.get_discussion(discussion))["messages"]
    assert len(everything) == 7
    newest = await api_client.get_discussion(discussion, "?limit=3")
    earlier = await api_client.get_discussion(discussion, f"?limit=3&before={newest['before']}")
    oldest = await api_client.get_discussion(discussion, f"?limit=3&before={earlier['before']}")
    assert [*oldest["messages"], *earlier["messages"], *newest["messages"]] == everything
    assert oldest["before"] is None
