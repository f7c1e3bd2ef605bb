"""Discussions over HTTP: open, list, read, change, speak, go on, archive, delete, and see what was sent."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.params import Parameter
from msgspec import Struct

from moot.context.language import is_known
from moot.context.prompt import prompt
from moot.context.views import VIEWS
from moot.engine.hall import Hall, Opening, Saying, Started
from moot.engine.seating import Seating
from moot.model.accounts import Caller
from moot.model.discussions import Discussion, DiscussionStatus, Message, Run
from moot.model.errors import Conflict, NotFound, UsageError
from moot.model.requests import ModelRequest
from moot.server.bodies import Changes, GoOn, NewDiscussion, NewMessage, RunStarted, said
from moot.server.limits import model_calls
from moot.store.discussions import Discussions, Page
from moot.store.personas import Personas
from moot.store.projects import Projects
from moot.store.runs import Runs

Limit = Annotated[int, Parameter(ge=1, le=100)]
Key = Annotated[str | None, Parameter(header="Idempotency-Key", min_length=1, max_length=200)]


class Opened(Struct, frozen=True, kw_only=True):
    """A discussion with its newest messages; `before` asks for the page before them, if there is one."""

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None
    runs: tuple[Run, ...]


class DiscussionRoutes(Controller):
    path = "/api/discussions"
    tags = ("discussions",)

    @post(guards=[model_calls], summary="Open a discussion with its first message")
    async def open(
        self,
        data: NewDiscussion,
        caller: Caller,
        hall: Hall,
        seating: Seating,
        personas: Personas,
        projects: Projects,
        idempotency_key: Key = None,
    ) -> Started:
        """Answer before any model is called: what they say comes as the events of the run."""
        await _check(caller, data.persona, data.project, data.language, personas, projects)
        if data.model is not None:
            seating.check(data.model, "model")
        opening = Opening(
            message=said(data.message),
            title=said(data.title, "title").strip() if data.title is not None else None,
            participants=await seating.seat(caller.tenant, data.participants),
            mode=data.mode,
            rounds=data.rounds,
            persona=data.persona,
            project=data.project,
            language=data.language,
            model=data.model,
        )
        return await hall.open(caller, opening, idempotency_key)

    @get(summary="List discussions, newest first")
    async def list(
        self,
        caller: Caller,
        discussions: Discussions,
        cursor: str | None = None,
        limit: Limit = 50,
        status: DiscussionStatus | None = None,
        project: str | None = None,
        q: Annotated[str | None, Parameter(max_length=500)] = None,
    ) -> Page:
        return await discussions.page(
            caller.tenant, cursor=cursor, limit=limit, status=status, project=project, q=q
        )

    @get("/{id:str}", summary="Read a discussion")
    async def read(
        self, id: str, caller: Caller, discussions: Discussions, before: int | None = None, limit: Limit = 50
    ) -> Opened:
        discussion = await discussions.get(caller.tenant, id)
        messages = await discussions.messages(id, before=before, limit=limit + 1, hidden=False)
        page = messages[-limit:]
        return Opened(
            discussion=discussion,
            messages=page,
            before=page[0].number if len(messages) > limit else None,
            runs=await discussions.live_runs(caller.tenant, id),
        )

    @patch("/{id:str}", summary="Change what is left to change")
    async def change(
        self,
        id: str,
        data: Changes,
        caller: Caller,
        discussions: Discussions,
        seating: Seating,
        personas: Personas,
        projects: Projects,
    ) -> Discussion:
        changes = {
            name: value
            for name in data.__struct_fields__
            if (value := getattr(data, name)) is not msgspec.UNSET
        }
        wanted = {name: changes.get(name) for name in ("persona", "project", "language")}
        await _check(caller, wanted["persona"], wanted["project"], wanted["language"], personas, projects)
        if (model := changes.get("model")) is not None:
            seating.check(model, "model")
        if "title" in changes:
            changes["title"] = said(changes["title"], "title").strip()
        if "participants" in changes:
            changes["participants"] = await seating.seat(caller.tenant, changes["participants"])
        return await discussions.change(caller.tenant, id, changes)

    @post("/{id:str}/messages", status_code=202, guards=[model_calls], summary="Say something")
    async def say(
        self, id: str, data: NewMessage, caller: Caller, hall: Hall, idempotency_key: Key = None
    ) -> RunStarted:
        """Start a run that answers; one that is still going on ends, and what it said so far is seen."""
        saying = Saying(discussion=id, message=said(data.message), to=data.to)
        started = await hall.say(caller, saying, idempotency_key)
        return RunStarted(message=started.message, run=started.run)

    @post(
        "/{id:str}/continue", status_code=202, guards=[model_calls], summary="Let the table go on by itself"
    )
    async def go_on(
        self, id: str, caller: Caller, hall: Hall, data: GoOn | None = None, idempotency_key: Key = None
    ) -> RunStarted:
        started = await hall.go_on(caller, id, data.turns if data else 1, idempotency_key)
        return RunStarted(message=started.message, run=started.run)

    @post("/{id:str}/archive", status_code=200, summary="Put a discussion away")
    async def archive(self, id: str, caller: Caller, discussions: Discussions) -> Discussion:
        return await discussions.change(caller.tenant, id, {"status": "archived"})

    @delete("/{id:str}", summary="Delete a discussion and all that was said in it")
    async def delete(self, id: str, caller: Caller, discussions: Discussions) -> None:
        await discussions.get(caller.tenant, id)
        if live := await discussions.live_runs(caller.tenant, id):
            raise Conflict(f"The table is still speaking: stop run {live[-1].id} first.")
        await discussions.delete(caller.tenant, id)

    @get("/{id:str}/turns/{turn:str}/prompt", summary="What a participant was sent")
    async def prompt(
        self, id: str, turn: str, caller: Caller, discussions: Discussions, runs: Runs
    ) -> ModelRequest:
        """Make the prompt of a turn again, by the function that made it, from what was there then."""
        await discussions.get(caller.tenant, id)
        answer = await discussions.message(id, turn)
        if answer.participant is None or answer.run is None or answer.view is None:
            raise NotFound(f"{turn!r} is no turn of a participant.")
        plan = await runs.plan(answer.run)
        earlier = await discussions.messages(id, before=(answer.upto or 0) + 1)
        seen = VIEWS[answer.view](earlier, answer.participant, answer.run)
        return prompt(plan, plan.participant(answer.participant), seen, answer.instruction or "")


async def _check(
    caller: Caller,
    persona: str | None,
    project: str | None,
    language: str | None,
    personas: Personas,
    projects: Projects,
) -> None:
    """Refuse what is not there, or is somebody else's."""
    if persona is not None:
        await personas.get(caller.tenant, persona)
    if project is not None:
        await projects.get(caller.tenant, project)
    if language is not None and not is_known(language):
        raise UsageError(
            f"language: {language!r} is no language code that is known here: use one such as en or de."
        )
