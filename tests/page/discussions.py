"""Steps that many tests start with: finished discussions, and the selection of a model."""

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.support.moot_server import MootServer


async def open_discussion(
    server: MootServer, *scripts: str, title: str = "Tables", wait: bool = True, **more: Any
) -> str:
    """Create a discussion whose participants have the names of their scripts, wait for its end, and return its id."""
    participants = [{"model": f"scripted/{script}", "name": script.capitalize()} for script in scripts]
    body = {"message": f"About {title}?", "title": title, "participants": participants, **more}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    if wait:
        await server.run_events(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def open_titled_discussion(server: MootServer, title: str, **more: Any) -> str:
    """Create a discussion with a model that costs money, or with others, and wait for its end."""
    return await open_discussion(server, title=title, **{"message": title, "participants": ["scripted/priced"], **more})


async def wait_until_idle(page: Page) -> None:
    """Wait until the page shows no active run: only then can messages be edited."""
    await expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


async def choose_reader_model(container: Locator, model: str) -> None:
    """Type the model that reads, and close the list of suggestions."""
    field = container.get_by_role("combobox", name="Model", exact=True)
    await field.fill(model)
    await field.press("Enter")
