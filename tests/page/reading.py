"""Scripted models that read discussions, and answer with the shapes that they are asked for."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.page.visiting import visiting
from tests.serving import MootServer

READS = {
    "export": {
        "summary": "Round tables help people talk.",
        "usefulness": 0.72,
        "insights": [
            {
                "title": "Corners stay unused",
                "detail": "A round table wastes the corners.",
                "category": "space",
                "kind": "pain_point",
                "severity": "high",
                "messages": ["m2"],
            },
            {
                "title": "A bench uses the corner",
                "detail": "It takes two more people.",
                "suggestion": "Measure the wall.",
                "category": "space",
                "kind": "solution",
                "paired": 0,
                "messages": ["m2"],
            },
            {
                "title": "Oak it is",
                "detail": "Oak outlives the kitchen.",
                "category": "material",
                "kind": "decision",
                "messages": [],
            },
        ],
    },
    "consolidate": {
        "patterns": [
            {
                "kind": "pain",
                "title": "Space is measured too late",
                "description": "The room was measured after the choice.",
                "evidence": ["Corners stay unused"],
                "frequency": 4,
                "severity": "high",
                "tags": ["space", "planning"],
            }
        ]
    },
}

VOICES = "".join(
    f"[{name}]\nprice = 2.5\nanswer = '''{json.dumps(answer)}'''\n" for name, answer in READS.items()
)
VOICES += "[slow]\nanswer = 'It never comes to this.'\ndelay = 600\n"
VOICES += "[priced]\nprice = 2.5\nanswer = 'A round one, of oak, so that everybody hears everybody.'\n"


@asynccontextmanager
async def reading(page: Page, folder: Path, settings: str = "") -> AsyncIterator[MootServer]:
    """Serve with models that read."""
    async with visiting(page, folder, settings=settings, voices=VOICES) as server:
        yield server


async def opened(
    server: MootServer, *voices: str, title: str = "Tables", wait: bool = True, **more: Any
) -> str:
    """Open a discussion among voices that are called as their scripts, hear it to its end, and return its id."""
    participants = [{"model": f"scripted/{voice}", "name": voice.capitalize()} for voice in voices]
    body = {"message": f"About {title}?", "title": title, "participants": participants, **more}
    reply = await server.post("/api/discussions", body)
    assert reply.status == 201, reply
    if wait:
        await server.heard(reply.body["run"]["id"])
    return str(reply.body["discussion"]["id"])


async def discussed(server: MootServer, title: str, **more: Any) -> str:
    """Open a discussion with a voice that has its price, or with others, and hear it to its end."""
    return await opened(
        server, title=title, **{"message": title, "participants": ["scripted/priced"], **more}
    )


async def choose(place: Locator, model: str) -> None:
    """Write who reads, and close the list that is offered meanwhile."""
    field = place.get_by_role("combobox", name="Model that reads")
    await field.fill(model)
    await field.press("Enter")
