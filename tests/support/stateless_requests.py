"""Requests to the stateless endpoint, as clients write them."""

from typing import Any

import msgspec

from moot.services.stateless import Lesson, parse_lesson
from moot.types.stateless import ChatRequest

MIRA = {"id": "mira", "name": "Mira", "role": "teacher", "priority": 5, "avatar": "owl", "color": "#4a7c59"}
TOM = {"id": "tom", "name": "Tom", "role": "student"}
LI = {"id": "li", "name": "Li", "role": "student"}

# The agents that the scripts of the sample lesson are written for.
CLASS_AGENTS = [
    {"id": "alpha", "name": "Alpha", "role": "teacher", "model": "scripted/teacher"},
    {"id": "beta", "name": "Beta", "role": "assistant", "model": "scripted/assistant"},
    {"id": "gamma", "name": "Gamma", "role": "student", "model": "scripted/student"},
    {"id": "delta", "name": "Delta", "role": "student", "model": "scripted/classmate"},
]
QUESTION = "Why are the sums of odd numbers squares?"


def chat_request(
    *agents: dict[str, Any], text: str = "Go on.", model: str = "scripted/m", **more: Any
) -> dict[str, Any]:
    """Return a request with these agents, all of them present; `config` is merged into its own."""
    present = agents or (MIRA,)
    config = {"agentIds": [one["id"] for one in present], "agents": list(present)}
    return {
        "messages": [{"role": "user", "content": text}],
        "storeState": {},
        "model": model,
        **more,
        "config": {**config, **more.get("config", {})},
    }


def agent_response(agent: str, preview: str = "Yes.", **more: Any) -> dict[str, Any]:
    return {"agentId": agent, "agentName": agent.title(), "contentPreview": preview, **more}


def director_state(*responses: dict[str, Any], whiteboard_ledger: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "turnCount": len(responses),
        "agentResponses": list(responses),
        "whiteboardLedger": list(whiteboard_ledger),
    }


def whiteboard_action(name: str, agent: str = "mira", **params: Any) -> dict[str, Any]:
    return {"actionName": name, "agentId": agent, "agentName": agent.title(), "params": params}


def build_lesson(*agents: dict[str, Any], **more: Any) -> Lesson:
    return parse_lesson(msgspec.convert(chat_request(*agents, **more), ChatRequest))


def parse_events(text: str) -> list[Any]:
    """Parse the events of a stream. Each has its type twice: as SSE field and in its data."""
    events = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            events.append(msgspec.json.decode(lines["data"]))
            assert lines["event"] == events[-1]["type"]
    return events


def event_types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]
