"""What most journeys begin with: discussions that were held, and the choice of who reads them."""

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.support.moot_server import MootServer


async def open_discussion(
    server: MootServer, *scripts: str, title: str = "Tables", wait: bool = True, **more: Any
) -> str:
    """Open a discussion among voices that are called as their scripts, hear it to its end, and return its id."""
    participants = [{"model": f"scripted/{voice}", "name": voice.capitalize()} for voice in scripts]
    body = {"message": f"About {title}?", "title": title, "participants": participants, **more}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    if wait:
        await server.run_events(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def open_titled_discussion(server: MootServer, title: str, **more: Any) -> str:
    """Open a discussion with a voice that has its price, or with others, and hear it to its end."""
    return await open_discussion(server, title=title, **{"message": title, "participants": ["scripted/priced"], **more})


async def wait_until_idle(page: Page) -> None:
    """Wait until no run goes on that this page knows of: only then may what was said be edited."""
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def choose_reader_model(container: Locator, model: str) -> None:
    """Write who reads, and close the list that is offered meanwhile."""
    field = container.get_by_role("combobox", name="Model", exact=True)
    await field.fill(model)
    await field.press("Enter")
