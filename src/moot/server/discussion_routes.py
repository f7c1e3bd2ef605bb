"""Discussions over HTTP: open, list, read, change, speak, go on, archive, delete, and see what was sent."""

from collections.abc import Sized
from typing import Annotated

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from msgspec import UNSET, Struct

from moot.context.language import is_known
from moot.context.prompt import prompt
from moot.context.views import VIEWS
from moot.engine.hall import Hall, Opening, Saying, Started
from moot.engine.seating import Seating
from moot.model.accounts import Caller
from moot.model.discussions import Discussion, DiscussionStatus, Message, Run
from moot.model.errors import NotFound, UsageError, wanted_by
from moot.model.requests import ModelRequest
from moot.server.bodies import DiscussionChange, DiscussionDraft, GoOn, NewMessage, said
from moot.server.limits import RateLimits, message_rate
from moot.server.paging import Cursor, Limit
from moot.store.discussions import Discussions, Page
from moot.store.personas import Personas
from moot.store.projects import Projects
from moot.store.runs import Runs

Before = Annotated[int | None, QueryParameter(ge=1, le=2**63 - 1, description="Older than this message")]
Search = Annotated[str | None, QueryParameter(max_length=500, description="Words in titles and messages")]
Key = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A request that comes twice with one key is done once",
    ),
]


class DiscussionRead(Struct, frozen=True, kw_only=True):
    """A discussion with its newest messages; `before` asks for the page before them, if there is one."""

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None
    runs: tuple[Run, ...]


class Accepted(Struct, frozen=True, kw_only=True):
    """What was said, unless the table goes on by itself, and the run that answers."""

    message: Message | None
    run: Run


class DiscussionRoutes(Controller):
    path = "/api/discussions"
    tags = ("discussions",)

    @post(guards=[message_rate], summary="Open a discussion with its first message")
    async def open(
        self,
        data: JSONBody[DiscussionDraft],
        caller: Given[Caller],
        hall: Given[Hall],
        seating: Given[Seating],
        personas: Given[Personas],
        projects: Given[Projects],
        limits: Given[RateLimits],
        idempotency_key: Key = None,
    ) -> Started:
        """Answer before any model is called: what they say comes as the events of the run."""
        await _check(caller, data.persona, data.project, data.language, personas, projects)
        if data.model is not None:
            seating.check(data.model, "model")
        mode: str = data.mode or ("single" if len(data.participants) == 1 else "parallel")
        _check_mode(mode, data.participants)
        if mode == "debate":
            await limits.debate(caller.account)
        opening = Opening(
            message=said(data.message),
            title=said(data.title, "title").strip() if data.title is not None else None,
            participants=await seating.seat(caller.tenant, data.participants),
            mode=mode,
            rounds=data.rounds,
            persona=data.persona,
            project=data.project,
            language=data.language,
            model=data.model,
            cap=data.cap,
        )
        return await hall.open(caller, opening, idempotency_key)

    @get(summary="List discussions, newest first")
    async def list(
        self,
        caller: Given[Caller],
        discussions: Given[Discussions],
        cursor: Cursor = None,
        limit: Limit = 50,
        status: FromQuery[DiscussionStatus | None] = None,
        project: FromQuery[str | None] = None,
        q: Search = None,
    ) -> Page:
        return await discussions.page(
            caller.tenant, cursor=cursor, limit=limit, status=status, project=project, q=q
        )

    @get("/{id:str}", summary="Read a discussion and the newest that was said in it")
    async def read(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        before: Before = None,
        limit: Limit = 50,
    ) -> DiscussionRead:
        discussion = await discussions.get(caller.tenant, id)
        messages = await discussions.messages(id, before=before, limit=limit + 1, hidden=False)
        page = messages[-limit:]
        return DiscussionRead(
            discussion=discussion,
            messages=page,
            before=page[0].number if len(messages) > limit else None,
            runs=await discussions.live_runs(caller.tenant, id),
        )

    @patch("/{id:str}", summary="Change a discussion; what is left out stays as it is")
    async def change(
        self,
        id: FromPath[str],
        data: JSONBody[DiscussionChange],
        caller: Given[Caller],
        discussions: Given[Discussions],
        seating: Given[Seating],
        personas: Given[Personas],
        projects: Given[Projects],
    ) -> Discussion:
        """Runs that have begun go on as they are; the next one is as it says now."""
        changes = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not UNSET}
        if not changes:
            return await discussions.get(caller.tenant, id)
        persona, project, language = (changes.get(name) for name in ("persona", "project", "language"))
        await _check(caller, persona, project, language, personas, projects)
        if (model := changes.get("model")) is not None:
            seating.check(model, "model")
        if "title" in changes:
            changes["title"] = said(changes["title"], "title").strip()
        if "participants" in changes:
            changes["participants"] = await seating.seat(caller.tenant, changes["participants"])
        if changes.keys() & {"mode", "participants"}:
            now = await discussions.get(caller.tenant, id)
            _check_mode(changes.get("mode", now.mode), changes.get("participants", now.participants))
        return await discussions.change(caller.tenant, id, changes)

    @post("/{id:str}/messages", status_code=202, guards=[message_rate], summary="Say something")
    async def say(
        self,
        id: FromPath[str],
        data: JSONBody[NewMessage],
        caller: Given[Caller],
        hall: Given[Hall],
        discussions: Given[Discussions],
        limits: Given[RateLimits],
        idempotency_key: Key = None,
    ) -> Accepted:
        """Start a run that answers; one that is still going on ends, and what it said so far is seen."""
        if (await discussions.get(caller.tenant, id)).mode == "debate":
            await limits.debate(caller.account)
        saying = Saying(discussion=id, message=said(data.message), to=data.to, cap=data.cap)
        started = await hall.say(caller, saying, idempotency_key)
        return Accepted(message=started.message, run=started.run)

    @post("/{id:str}/continue", status_code=202, guards=[message_rate], summary="Let the table go on")
    async def go_on(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        hall: Given[Hall],
        data: JSONBody[GoOn | None] = None,
        idempotency_key: Key = None,
    ) -> Accepted:
        """Let the participants after the last speaker go on by themselves, for so many turns."""
        started = await hall.go_on(caller, id, data.turns if data else 1, idempotency_key)
        return Accepted(message=started.message, run=started.run)

    @post("/{id:str}/archive", status_code=200, summary="Put a discussion away")
    async def archive(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]
    ) -> Discussion:
        return await discussions.change(caller.tenant, id, {"status": "archived"})

    @delete("/{id:str}", summary="Delete a discussion and all that was said in it")
    async def delete(self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]) -> None:
        await discussions.delete(caller.tenant, id)

    @get("/{id:str}/turns/{turn:str}/prompt", summary="What a participant was sent")
    async def prompt(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        runs: Given[Runs],
    ) -> ModelRequest:
        """Make the prompt of a turn again, by the function that made it, from what was there then.

        `turn` is the id of the message that came of it.
        """
        await discussions.get(caller.tenant, id)
        answer = await discussions.message(id, turn)
        if answer.participant is None or answer.run is None or answer.view is None:
            raise NotFound(f"{turn!r} is no turn of a participant.")
        plan = await runs.plan(answer.run)
        earlier = await discussions.messages(id, before=answer.number, upto=answer.upto)
        seen = VIEWS[answer.view](earlier, answer.participant, answer.run)
        return prompt(plan, plan.participant(answer.participant), seen, answer.instruction or "")


def _check_mode(mode: str, participants: Sized) -> None:
    if mode == "consensus" and len(participants) < 2:
        raise UsageError("mode: consensus takes at least two participants: add one, or choose single.")


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
        with wanted_by("persona"):
            await personas.get(caller.tenant, persona)
    if project is not None:
        with wanted_by("project"):
            await projects.get(caller.tenant, project)
    if language is not None and not is_known(language):
        raise UsageError(
            f"language: {language!r} is no language code that is known here: use one such as en or de."
        )
