"""The application with stored answers, and with models whose answers a test queues."""

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
from moot.services.run_plans import NewDiscussion, ParticipantInput
from moot.settings import Settings
from moot.store.database import Database
from moot.store.runs.event_log import EventLogEntry, RunEnding, RunRecords
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.primitives import new_id
from moot.types.requests import ModelRequest
from tests.support.accounts import ANNA
from tests.support.tenant_api import TenantApi, create_tenant_api

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
ASSERTIONS = "It gives a reason.\nIt names a source."
DOLLAR_PER_TOKEN = 1_000_000.0  # dollars for a million tokens


class QueuedAnswersProvider(ScriptedProvider):
    """Models that return the queued answers, one for each call; the last one is repeated."""

    def __init__(self) -> None:
        self.scripts = Scripts({**BUILT_IN_SCRIPTS, "judge": Script(), "alpha": Script(), "task-model": Script()})
        super().__init__(self.scripts)
        self.queued_answers: defaultdict[str, list[str]] = defaultdict(list)
        self.requests: list[ModelRequest] = []

    def queue_answers(self, model: str, *answers: object, **script: Any) -> None:
        """Queue the next answers of a model: texts, or values as JSON."""
        self.queued_answers[model] = [
            one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in answers
        ]
        self.scripts.by_name[model] = Script(chunk_chars=1000, **script)

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        answers, script = self.queued_answers[request.model], self.scripts.by_name[request.model]
        if answers:
            self.scripts.by_name[request.model] = msgspec.structs.replace(script, answer=answers.pop(0))
        async for chunks in super().stream_chunks(request, key):
            yield chunks

    def find_prompts(self, text: str) -> list[str]:
        """Return the questions that contain a text, or whose system prompt contains it."""
        prompts = [(one.system, last_user_text(one)) for one in self.requests]
        return [question for system, question in prompts if text in system or text in question]


class EvaluationApp:
    """The application, with steps to store answers and evaluations."""

    def __init__(self, api: TenantApi, models: QueuedAnswersProvider) -> None:
        self.api = api
        self.models = models

    @property
    def services(self) -> Services:
        return self.api.services

    async def record_answer(
        self,
        question_text: str = "Why is a table round?",
        answer: str = "Because.",
        *,
        model: str = "scripted/alpha",
        persona: str | None = None,
        shared_persona: str | None = None,
        **options: Any,
    ) -> Message:
        """Store a discussion in which Alpha has answered a question."""
        services = self.services
        participants = await services.run_planner.assign_participants(
            ANNA, [ParticipantInput(model=model, persona=persona, name="Alpha")]
        )
        new_discussion = NewDiscussion(
            message=question_text,
            participants=participants,
            mode="single",
            rounds=2,
            language="en",
            persona=shared_persona,
            **options,
        )
        started = await services.discussion_service.create(CALLER, new_discussion)
        lease = await services.runs.acquire_lease(started.run.id, self.api.worker.id)
        assert lease is not None
        assert started.message is not None
        message = Message(
            id=new_id("msg"),
            discussion=lease.discussion,
            run=lease.run,
            role="assistant",
            content=answer,
            participant="alpha",
            name="Alpha",
            stage="answer",
            model=model,
            view="everything",
            visible_until=started.message.seq,
            created_at=time.time(),
        )
        await services.events.write_entries(
            [EventLogEntry(lease, 1, [], RunRecords([message]), RunEnding("completed", time.time()))]
        )
        return await services.discussions.find_message(ANNA, message.id)

    async def create_evaluation(self, *passed: bool, **answer_options: Any) -> Any:
        """Store an answer, and let the judge check two assertions."""
        message = await self.record_answer(**answer_options)
        self.models.queue_answers("judge", judge_reply(*passed))
        body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
        return (await self.api.call_ok("POST", f"/messages/{message.id}/evaluations", body))["evaluation"]

    async def improve_evaluation(self, evaluation_id: str) -> list[Any]:
        """Improve an evaluation to the end, and return the events."""
        return await self.stream_events(f"/evaluations/{evaluation_id}/improve")

    async def stream_events(self, path: str, body: object = None) -> list[Any]:
        reply = await self.api.call("POST", path, body)
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"].startswith("text/event-stream")
        blocks = [block for block in reply.text.split("\n\n") if block.startswith("data: ")]
        return [msgspec.json.decode(block.removeprefix("data: ")) for block in blocks]

    async def usage_by_purpose(self) -> dict[str, Any]:
        """Return the usage by purpose."""
        usage = await self.api.call_ok("GET", "/usage", by="purpose")
        return {row["key"]: row for row in usage["rows"]}


def judge_reply(*passed: bool) -> dict[str, Any]:
    verdicts = [{"number": number, "reason": "So it is.", "passed": one} for number, one in enumerate(passed, 1)]
    return {"verdicts": verdicts}


def rewrite_reply(description: str, change: str = "It asks for more.") -> dict[str, str]:
    return {"change": change, "description": description}


@asynccontextmanager
async def create_evaluation_app(database: Database, settings: Settings | None = None) -> AsyncIterator[EvaluationApp]:
    async with create_tenant_api(database, settings) as api:
        provider = QueuedAnswersProvider()
        api.services.registry._providers["scripted"] = provider
        yield EvaluationApp(api, provider)
