"""Persona suggestions: clarifying questions about a situation, and a stream of proposed personas."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from moot.engine.model_resolution import ResolveModel
from moot.prompts.tasks.persona_suggestions import ProposalFilter, Questions, proposals_request, questions_request
from moot.providers.registry import ResolvedModel
from moot.services.model_tasks import ModelTasks
from moot.store.library.personas import Personas
from moot.streaming.cancellation import cancel_tasks
from moot.streaming.json_array.parser import JsonArrayParser, ObjectItem
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.events import Event, TextDelta, TextRetracted, TurnEnded, TurnStarted
from moot.types.personas import Proposal, RejectedProposal, SituationAnswer
from moot.types.requests import ModelRequest


class ClarifyingQuestions(Struct, frozen=True, kw_only=True):
    """Questions that a model asks before it proposes personas."""

    questions: tuple[str, ...]
    model: str
    usage: Usage
    cost_usd: float | None  # US dollars; None if the price is unknown


class SuggestionsStarted(Struct, frozen=True, kw_only=True, tag_field="type", tag="proposing"):
    """First event of the stream."""

    model: str  # first model of the fallback chain


class PersonaSuggested(Struct, frozen=True, kw_only=True, tag_field="type", tag="proposal"):
    proposal: Proposal


class SuggestionsEnded(Struct, frozen=True, kw_only=True, tag_field="type", tag="done"):
    """Last event of the stream."""

    proposals: int  # number of accepted proposals
    dropped: tuple[RejectedProposal, ...]
    model: str  # the model that answered, which may be a fallback
    usage: Usage
    cost_usd: float | None  # US dollars; None if the price is unknown
    message: str = ""  # the error, if there are no usable proposals


SuggestionEvent = SuggestionsStarted | PersonaSuggested | SuggestionsEnded


class ProposalParser:
    """Parses proposals from text deltas and queues them. None in the queue marks its end."""

    def __init__(self, choice: ProposalFilter) -> None:
        self.proposals: asyncio.Queue[Proposal | None] = asyncio.Queue()
        self._choice = choice
        self._reader = JsonArrayParser()

    async def on_events(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case TextDelta(text=text):
                    self._collect_proposals(self._reader.feed(text))
                case TurnStarted() | TextRetracted():  # a retry or a retraction: discard the text so far
                    self._reader = JsonArrayParser()
                case _:
                    pass

    def close(self) -> None:
        self._collect_proposals(self._reader.close())
        self.proposals.put_nowait(None)

    def _collect_proposals(self, items: Sequence[object]) -> None:
        for one in items:
            if isinstance(one, ObjectItem) and (proposal := self._choice.add_proposal(one.value)) is not None:
                self.proposals.put_nowait(proposal)  # bounded: the filter accepts two per category


class PersonaSuggestions:
    def __init__(self, personas: Personas, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._personas = personas
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def ask_questions(self, caller: Caller, situation: str, model: str) -> ClarifyingQuestions:
        chain = await self._resolve_model(caller.tenant, model)
        async with self._model_tasks.within_budget(caller.account):
            answer = await self._model_tasks.run_structured_task(
                _payer_for(caller), "persona_suggestions", chain, questions_request(situation), Questions
            )
        return ClarifyingQuestions(
            questions=answer.unwrap().questions, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd
        )

    async def suggest_personas(
        self, caller: Caller, situation: str, replies: Sequence[SituationAnswer], model: str
    ) -> AsyncGenerator[SuggestionEvent, None]:
        """Stream proposals as the model writes them.

        Errors that reject the request are raised before the first event. Later ones are in the last event.
        """
        chain = await self._resolve_model(caller.tenant, model)
        taken = await self._personas.persona_names(caller.tenant)
        choice = ProposalFilter(taken)
        parser = ProposalParser(choice)
        async with self._model_tasks.within_budget(caller.account):
            yield SuggestionsStarted(model=chain[0].name)
            task = asyncio.create_task(
                self._run_suggestion(caller, chain, proposals_request(situation, replies, taken), parser)
            )
            try:
                while (proposal := await parser.proposals.get()) is not None:
                    yield PersonaSuggested(proposal=proposal)
                ended = await task
            finally:
                # If the client disconnects, wait for the task: it records the charge before it ends.
                await cancel_tasks(task)
        yield _final_event(ended, choice)

    async def _run_suggestion(
        self, caller: Caller, chain: Sequence[ResolvedModel], request: ModelRequest, parser: ProposalParser
    ) -> TurnEnded:
        try:
            return await self._model_tasks.stream_text_task(
                _payer_for(caller), "persona_suggestions", chain, request, parser.on_events
            )
        finally:
            parser.close()


def _payer_for(caller: Caller) -> Payer:
    return Payer(tenant=caller.tenant, account=caller.account)


def _final_event(turn_ended: TurnEnded, choice: ProposalFilter) -> SuggestionsEnded:
    message = ""
    if turn_ended.status != "completed":
        message = turn_ended.fault.message if turn_ended.fault else f"{turn_ended.model} was cut off. Try again."
    elif not choice.accepted:
        message = f"{turn_ended.model} proposed nothing that can be used. Try again, or choose another model."
    return SuggestionsEnded(
        proposals=len(choice.accepted),
        dropped=tuple(choice.rejected),
        model=turn_ended.model,
        usage=turn_ended.usage,
        cost_usd=turn_ended.cost_usd,
        message=message,
    )
