"""The routes of a whiteboard. Other tests check what is drawn."""

from collections.abc import AsyncIterator

import pytest

from moot.services import image_renderer
from moot.store.database import Database
from tests.support.app_fixture import LocalApp, create_local_app


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def test_discussion_without_drawings_has_empty_whiteboard(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    id, run = opened["discussion"]["id"], opened["run"]["id"]
    for query in ("", f"?run={run}", f"?run={run}&seq=3"):
        assert await local_app.call_ok("GET", f"/api/discussions/{id}/whiteboard{query}") == {
            "open": False,
            "elements": [],
        }


@pytest.mark.parametrize(
    ("form", "kind", "begins"),
    [("svg", "image/svg+xml", b"<svg"), ("png", "image/png", b"\x89PNG")],
)
async def test_whiteboard_image_is_served_with_safe_headers(
    local_app: LocalApp, monkeypatch: pytest.MonkeyPatch, form: str, kind: str, begins: bytes
) -> None:
    monkeypatch.setattr(image_renderer, "RENDER_TIMEOUT_SECONDS", 120.0)  # a process has to start first
    id = (await local_app.create_discussion())["discussion"]["id"]
    reply = await local_app.call("GET", f"/api/discussions/{id}/whiteboard.{form}")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith(kind)
    assert reply.content.startswith(begins)
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in reply.headers["Content-Security-Policy"]


async def test_whiteboard_svg_is_dark_only_when_requested(local_app: LocalApp) -> None:
    id = (await local_app.create_discussion())["discussion"]["id"]
    for query, paper in (("", "#ffffff"), ("?dark=false", "#ffffff"), ("?dark=true", "#1c1e21")):
        reply = await local_app.call("GET", f"/api/discussions/{id}/whiteboard.svg{query}")
        assert f'fill="{paper}"' in reply.text


@pytest.mark.parametrize("form", ["whiteboard", "whiteboard.svg", "whiteboard.png"])
async def test_unknown_whiteboard_returns_404_and_negative_seq_400(local_app: LocalApp, form: str) -> None:
    one, other = await local_app.create_discussion(), await local_app.create_discussion()
    id = one["discussion"]["id"]
    for path in (f"dis_none/{form}", f"{id}/{form}?run=run_none", f"{id}/{form}?run={other['run']['id']}"):
        assert (await local_app.call("GET", f"/api/discussions/{path}")).status_code == 404
    assert (await local_app.call("GET", f"/api/discussions/{id}/{form}?seq=-1")).status_code == 400
