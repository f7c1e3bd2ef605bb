"""Perspectives: questions about somebody's situation, and voices proposed for it, told as they are written."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from moot.engine.model_resolution import Chains
from moot.prompts.tasks.persona_suggestions import Choice, Questions, proposing, questioning
from moot.providers.registry import Resolved
from moot.services.model_tasks import Errands
from moot.store.library.personas import Personas
from moot.streaming.json_array.parser import ArrayReader, Item
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.events import Event, TextDelta, TextRetracted, TurnEnded, TurnStarted
from moot.types.personas import Dropped, Proposal, Reply
from moot.types.requests import ModelRequest


class Asked(Struct, frozen=True, kw_only=True):
    """Questions back, and what they took; `cost` is None where nobody knows."""

    questions: tuple[str, ...]
    model: str
    usage: Usage
    cost: float | None


class Proposing(Struct, frozen=True, kw_only=True, tag_field="type", tag="proposing"):
    """It begins; `model` is asked."""

    model: str


class Proposed(Struct, frozen=True, kw_only=True, tag_field="type", tag="proposal"):
    proposal: Proposal


class AllProposed(Struct, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """It is over: what was left out, and what it took. Where the model failed, `message` says what to do."""

    proposals: int
    dropped: tuple[Dropped, ...]
    model: str
    usage: Usage
    cost: float | None
    message: str = ""


Perspective = Proposing | Proposed | AllProposed


class Reading:
    """Reads proposals out of what a model says, while it does."""

    def __init__(self, choice: Choice) -> None:
        self.found: asyncio.Queue[Proposal | None] = asyncio.Queue()
        self._choice = choice
        self._reader = ArrayReader()

    async def hear(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case TextDelta(text=text):
                    self._take(self._reader.feed(text))
                case TurnStarted() | TextRetracted():  # what was said before is void
                    self._reader = ArrayReader()
                case _:
                    pass

    def close(self) -> None:
        self._take(self._reader.close())
        self.found.put_nowait(None)

    def _take(self, read: Sequence[object]) -> None:
        for one in read:
            if isinstance(one, Item) and (proposal := self._choice.take(one.value)) is not None:
                self.found.put_nowait(proposal)  # never more than two of each category wait here


class Perspectives:
    def __init__(self, personas: Personas, chains: Chains, errands: Errands) -> None:
        self._personas = personas
        self._chains = chains
        self._errands = errands

    async def questions(self, caller: Caller, situation: str, model: str) -> Asked:
        """Let a model ask back what would change who can help."""
        chain = await self._chains(caller.tenant, model)
        async with self._errands.within_budget(caller.account):
            answer = await self._errands.ask(
                _payer(caller), "perspective", chain, questioning(situation), Questions
            )
        return Asked(
            questions=answer.needed().questions, model=answer.model, usage=answer.usage, cost=answer.cost
        )

    async def propose(
        self, caller: Caller, situation: str, replies: Sequence[Reply], model: str
    ) -> AsyncGenerator[Perspective, None]:
        """Tell proposals as they are written; whatever refuses the work is raised at first."""
        chain = await self._chains(caller.tenant, model)
        taken = await self._personas.names(caller.tenant)
        choice = Choice(taken)
        reading = Reading(choice)
        async with self._errands.within_budget(caller.account):
            yield Proposing(model=chain[0].name)
            saying = asyncio.create_task(
                self._said(caller, chain, proposing(situation, replies, taken), reading)
            )
            try:
                while (proposal := await reading.found.get()) is not None:
                    yield Proposed(proposal=proposal)
                ended = await saying
            finally:
                saying.cancel()
                await asyncio.gather(saying, return_exceptions=True)
        yield _done(ended, choice)

    async def _said(
        self, caller: Caller, chain: Sequence[Resolved], request: ModelRequest, reading: Reading
    ) -> TurnEnded:
        try:
            return await self._errands.answer(_payer(caller), "perspective", chain, request, reading.hear)
        finally:
            reading.close()


def _payer(caller: Caller) -> Payer:
    return Payer(tenant=caller.tenant, account=caller.account)


def _done(ended: TurnEnded, choice: Choice) -> AllProposed:
    message = ""
    if ended.status != "completed":
        message = ended.fault.message if ended.fault else f"{ended.model} was cut off. Try again."
    elif not choice.chosen:
        message = f"{ended.model} proposed nothing that can be used. Try again, or choose another model."
    return AllProposed(
        proposals=len(choice.chosen),
        dropped=tuple(choice.dropped),
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        message=message,
    )
