"""The request that an answer was made from, made again by the function that made it, from what was there then."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.runs.references import given
from moot.prompts.builder import pieces, prompt
from moot.prompts.parts import Attached, Piece, called
from moot.prompts.visibility import VIEWS
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.runs import Runs
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import Plan


class Told(Struct, frozen=True, kw_only=True):
    """All that a participant was told before an answer, and in the midst of it, where it called tools."""

    plan: Plan
    who: Participant
    seen: Sequence[Message]
    instruction: str
    attached: Attached
    answer: Message

    def request(self, part: str | None = None) -> ModelRequest:
        """Write the request as it was, or with another part to play."""
        plan = self.plan
        if part is not None:
            plan = replace(plan, personas={**plan.personas, self.who.id: part})
        return prompt(plan, self.who, self.seen, self.instruction, self.attached)

    def pieces(self) -> list[Piece]:
        """Take the request apart, by the function that puts it together, with what it was asked on with."""
        first = pieces(self.plan, self.who, self.seen, self.instruction, self.attached)
        return [*first, *called(self.answer.content, self.answer.tools or ())]


class Retelling:
    def __init__(self, database: Database) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._database = database

    async def of(self, tenant: str, answer: Message, *, only_text: bool = False) -> Told:
        """Find what somebody was told before an answer; with `only_text`, files that people could not read come empty."""
        if answer.participant is None or answer.run is None or answer.view is None:
            raise NotFound(f"{answer.id!r} is no turn of a participant.")
        plan = await self._runs.plan(await self._discussions.made_in(answer) or answer.run)
        earlier = await self._discussions.messages(answer.discussion, before=answer.number, upto=answer.upto)
        return Told(
            plan=plan,
            who=plan.participant(answer.participant),
            seen=VIEWS[answer.view](earlier, answer.participant, answer.run),
            instruction=answer.instruction or "",
            attached=await given(self._database, tenant, earlier, only_text=only_text),
            answer=answer,
        )
