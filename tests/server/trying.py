"""Answers that were given, models that say what a test lays out for them, and what they were asked."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from moot.app.container import Services
from moot.providers.provider import ChunkStream
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts, last_user_text
from moot.services.discussions import NewDiscussion
from moot.services.participants import Wanted
from moot.settings import Settings
from moot.store.database import Database
from moot.store.runs.event_insert import EventLogEntry, RunEnding, RunRecords
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.primitives import new_id
from moot.types.requests import ModelRequest
from tests.server.knowing import Api, knowing
from tests.store.people import ANNA

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
ASSERTIONS = "It gives a reason.\nIt names a source."
DOLLAR = 1_000_000.0  # a token


class Cast(ScriptedProvider):
    """Models that say what is laid out for them, one answer a call, the last one for ever."""

    def __init__(self) -> None:
        self.scripts = Scripts({**BUILT_IN_SCRIPTS, "judge": Script(), "alpha": Script(), "clerk": Script()})
        super().__init__(self.scripts)
        self.lines: defaultdict[str, list[str]] = defaultdict(list)
        self.asked: list[ModelRequest] = []

    def says(self, model: str, *answers: object, **script: Any) -> None:
        """Lay out what a model says next: words, or values as JSON."""
        self.lines[model] = [
            one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in answers
        ]
        self.scripts.by_name[model] = Script(chunk=1000, **script)

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.asked.append(request)
        lines, script = self.lines[request.model], self.scripts.by_name[request.model]
        if lines:
            self.scripts.by_name[request.model] = msgspec.structs.replace(script, answer=lines.pop(0))
        async for chunks in super().stream_chunks(request, key):
            yield chunks

    def heard(self, words: str) -> list[str]:
        """Return the questions in which, or in whose system prompt, some words stood."""
        said = [(one.system, last_user_text(one)) for one in self.asked]
        return [asked for system, asked in said if words in system or words in asked]


class Trying:
    """The application, and what people have in it."""

    def __init__(self, api: Api, cast: Cast) -> None:
        self.api = api
        self.cast = cast

    @property
    def house(self) -> Services:
        return self.api.house

    async def answered(
        self,
        words: str = "Why is a table round?",
        answer: str = "Because.",
        *,
        model: str = "scripted/alpha",
        persona: str | None = None,
        all_play: str | None = None,
        **opening: Any,
    ) -> Message:
        """Let somebody have asked Alpha, who answered."""
        house = self.house
        who = await house.seating.resolve_participants(
            ANNA, [Wanted(model=model, persona=persona, name="Alpha")]
        )
        asked = NewDiscussion(
            message=words,
            participants=who,
            mode="single",
            rounds=2,
            language="en",
            persona=all_play,
            **opening,
        )
        started = await house.hall.create(CALLER, asked)
        claim = await house.runs.acquire_lease(started.run.id, house.worker_id)
        assert claim is not None
        assert started.message is not None
        said = Message(
            id=new_id("msg"),
            discussion=claim.discussion,
            run=claim.run,
            role="assistant",
            content=answer,
            participant="alpha",
            name="Alpha",
            stage="answer",
            model=model,
            view="everything",
            upto=started.message.number,
            created_at=time.time(),
        )
        await house.events.write_entries(
            [EventLogEntry(claim, 1, [], RunRecords([said]), RunEnding("completed", time.time()))]
        )
        return await house.discussions.find_message(ANNA, said.id)

    async def judged(self, *passed: bool, **answered: Any) -> Any:
        """Let an answer have been judged, by two assertions."""
        message = await self.answered(**answered)
        self.cast.says("judge", judgement(*passed))
        body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
        return (await self.api.ok("POST", f"/messages/{message.id}/assertions", body))["trial"]

    async def improved(self, trial: str) -> list[Any]:
        """Improve a trial to its end, and return what was told of it."""
        return await self.streamed(f"/trials/{trial}/improve")

    async def streamed(self, path: str, body: object = None) -> list[Any]:
        reply = await self.api.call("POST", path, body)
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"].startswith("text/event-stream")
        blocks = [block for block in reply.text.split("\n\n") if block.startswith("data: ")]
        return [msgspec.json.decode(block.removeprefix("data: ")) for block in blocks]

    async def paid(self) -> dict[str, Any]:
        """Return what was spent, by what it was for."""
        usage = await self.api.ok("GET", "/usage", by="purpose")
        return {row["key"]: row for row in usage["rows"]}


def judgement(*passed: bool) -> dict[str, Any]:
    found = [{"number": number, "reason": "So it is.", "passed": one} for number, one in enumerate(passed, 1)]
    return {"verdicts": found}


def rewritten(description: str, change: str = "It asks for more.") -> dict[str, str]:
    return {"change": change, "description": description}


@asynccontextmanager
async def trying(database: Database, settings: Settings | None = None) -> AsyncIterator[Trying]:
    async with knowing(database, settings) as api:
        cast = Cast()
        api.house.registry._providers["scripted"] = cast
        yield Trying(api, cast)
