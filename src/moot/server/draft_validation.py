"""What is wanted of a discussion, checked against what is there: models, personas, projects, languages, modes."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from moot.prompts.language import is_known
from moot.server.schemas import DiscussionChange, DiscussionDraft, said
from moot.services.discussions import Opening
from moot.services.participants import Seating, Wanted
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.discussions import Discussion
from moot.types.errors import UsageError, wanted_by
from moot.types.modes import check_mode, usual_mode


class Drafts:
    def __init__(self, seating: Seating, personas: Personas, projects: Projects) -> None:
        self._seating = seating
        self._personas = personas
        self._projects = projects

    async def opening(self, caller: Caller, data: DiscussionDraft, wanted: Sequence[str | Wanted]) -> Opening:
        """Turn what was sent into what can be done."""
        await self._check(caller, data)
        mode = data.mode or usual_mode(wanted)
        check_mode(mode, wanted)
        participants = await self._seating.seat(caller.tenant, wanted)
        return Opening(
            message=said(data.message),
            title=said(data.title, "title").strip() if data.title is not None else None,
            participants=participants,
            mode=mode,
            rounds=data.rounds,
            persona=data.persona,
            project=data.project,
            language=data.language,
            model=data.model,
            debate=data.debate.checked(participants) if data.debate else None,
            advisors=data.advisors.checked() if data.advisors else None,
            directed=data.directed.checked(participants) if data.directed else None,
            clerk=data.clerk,
            files=data.files,
            cap=data.cap,
        )

    async def changes(self, caller: Caller, data: DiscussionChange, now: Discussion) -> dict[str, Any]:
        """Return what is to be written, by column."""
        changes = {name: value for name, value in asdict(data).items() if value is not UNSET}
        await self._check(caller, data)
        if "title" in changes:
            changes["title"] = said(changes["title"], "title").strip()
        if "participants" in changes:
            changes["participants"] = await self._seating.seat(caller.tenant, changes["participants"])
        participants = changes.get("participants", now.participants)
        if changes.keys() & {"mode", "participants"}:
            check_mode(changes.get("mode", now.mode), participants)
        if data.debate:
            changes["debate"] = data.debate.checked(participants)
        if data.advisors:
            changes["advisors"] = data.advisors.checked()
        if data.directed:
            changes["directed"] = data.directed.checked(participants)
        return changes

    async def _check(self, caller: Caller, data: DiscussionDraft | DiscussionChange) -> None:
        """Refuse what is not there, or is somebody else's."""
        if data.persona:
            with wanted_by("persona"):
                await self._personas.get(caller.tenant, data.persona)
        if data.project:
            with wanted_by("project"):
                await self._projects.get(caller.tenant, data.project)
        if data.language and not is_known(data.language):
            raise UsageError(
                f"language: {data.language!r} is no language code that is known here: use one such as en or de."
            )
        for field, model in (("model", data.model), ("clerk", data.clerk)):
            if model:
                self._seating.check(model, field)
