"""Validation of discussion drafts and changes: models, personas, projects, languages and modes."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from moot.prompts.language import is_known_language
from moot.server.schemas import DiscussionChange, DiscussionDraft, require_text
from moot.services.discussions import NewDiscussion
from moot.services.participants import ParticipantInput, ParticipantResolver
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.discussions import Discussion
from moot.types.errors import UsageError, prefix_not_found
from moot.types.modes import check_mode, default_mode


class DraftValidator:
    def __init__(self, participant_resolver: ParticipantResolver, personas: Personas, projects: Projects) -> None:
        self._participant_resolver = participant_resolver
        self._personas = personas
        self._projects = projects

    async def validate_draft(
        self, caller: Caller, data: DiscussionDraft, participant_inputs: Sequence[str | ParticipantInput]
    ) -> NewDiscussion:
        """Raises `UsageError` or `NotFound` with the name of the invalid field."""
        await self._check_references(caller, data)
        mode = data.mode or default_mode(participant_inputs)
        check_mode(mode, participant_inputs)
        participants = await self._participant_resolver.resolve_participants(caller.tenant, participant_inputs)
        return NewDiscussion(
            message=require_text(data.message),
            title=require_text(data.title, "title").strip() if data.title is not None else None,
            participants=participants,
            mode=mode,
            rounds=data.rounds,
            persona=data.persona,
            project=data.project,
            language=data.language,
            model=data.model,
            debate=data.debate.for_participants(participants) if data.debate else None,
            advisors=data.advisors,
            directed=data.directed.for_participants(participants) if data.directed else None,
            task_model=data.task_model,
            files=data.files,
            max_cost_usd=data.max_cost_usd,
        )

    async def validate_change(self, caller: Caller, data: DiscussionChange, current: Discussion) -> dict[str, Any]:
        """Return new values by column. Fields that the request omits are not in the dict."""
        changes = {name: value for name, value in asdict(data).items() if value is not UNSET}
        await self._check_references(caller, data)
        if "title" in changes:
            changes["title"] = require_text(changes["title"], "title").strip()
        if "participants" in changes:
            changes["participants"] = await self._participant_resolver.resolve_participants(
                caller.tenant, changes["participants"]
            )
        participants = changes.get("participants", current.participants)
        if changes.keys() & {"mode", "participants"}:
            check_mode(changes.get("mode", current.mode), participants)
        if data.debate:
            changes["debate"] = data.debate.for_participants(participants)
        if data.directed:
            changes["directed"] = data.directed.for_participants(participants)
        return changes

    async def _check_references(self, caller: Caller, data: DiscussionDraft | DiscussionChange) -> None:
        """Raises `NotFound` also for ids of another tenant."""
        if data.persona:
            with prefix_not_found("persona"):
                await self._personas.get_persona(caller.tenant, data.persona)
        if data.project:
            with prefix_not_found("project"):
                await self._projects.get_project(caller.tenant, data.project)
        if data.language and not is_known_language(data.language):
            raise UsageError(f"language: {data.language!r} is not a known language code. Use one such as en or de.")
        for field, model in (("model", data.model), ("task_model", data.task_model)):
            if model:
                self._participant_resolver.check_model(model, field)
