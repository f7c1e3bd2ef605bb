"""Prompt replay: rebuilds the model request of a stored answer.

The same builder makes both requests, from the stored plan, view and instruction.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.runs.references import load_attachments
from moot.prompts.builder import build_model_request, build_pieces
from moot.prompts.parts import AttachmentsByMessage, PromptPiece, tool_call_pieces
from moot.prompts.visibility import VIEWS
from moot.store.stores import Stores
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan


class ReplayedPrompt(Struct, frozen=True, kw_only=True):
    """Arguments of the request that led to an answer."""

    plan: RunPlan
    participant: Participant
    visible_messages: Sequence[Message]
    instructions: str  # at the end of the prompt
    attachments: AttachmentsByMessage
    answer: Message  # with the tool calls of the turn

    def build_request(self, persona_prompt: str | None = None) -> ModelRequest:
        """`persona_prompt` replaces the original one; None keeps it."""
        plan = self.plan
        if persona_prompt is not None:
            plan = replace(plan, personas={**plan.personas, self.participant.id: persona_prompt})
        return build_model_request(plan, self.participant, self.visible_messages, self.instructions, self.attachments)

    def prompt_pieces(self) -> list[PromptPiece]:
        """Return the parts of the first request, then the tool calls and results of the turn."""
        first = build_pieces(self.plan, self.participant, self.visible_messages, self.instructions, self.attachments)
        return [*first, *tool_call_pieces(self.answer.content, self.answer.tools or ())]


class PromptReplay:
    def __init__(self, stores: Stores) -> None:
        self._discussions = stores.discussions
        self._runs = stores.runs
        self._stores = stores

    async def replay_prompt(self, tenant: str, answer: Message, *, only_text: bool = False) -> ReplayedPrompt:
        """Raises NotFound if the message is not a turn of a participant.

        `only_text`: files of other types have an empty body.
        """
        if answer.participant is None or answer.run is None or answer.view is None:
            raise NotFound(f"{answer.id!r} is not a turn of a participant.")
        # A regenerated version has the plan of its own run, e.g. with another model.
        plan = await self._runs.get_plan(await self._discussions.origin_run(answer) or answer.run)
        earlier = await self._discussions.list_messages(
            answer.discussion, before=answer.seq, visible_until=answer.visible_until
        )
        return ReplayedPrompt(
            plan=plan,
            participant=plan.find_participant(answer.participant),
            visible_messages=VIEWS[answer.view](earlier, answer.participant, answer.run),
            instructions=answer.instructions or "",
            attachments=await load_attachments(self._stores, tenant, earlier, only_text=only_text),
            answer=answer,
        )
