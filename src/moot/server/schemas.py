"""Request bodies and paging parameters of the API, with their limits."""

from collections.abc import Sequence
from typing import Annotated

from litestar.params import HeaderParameter, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from moot.services.participants import ParticipantInput
from moot.types.billing import MAX_AMOUNT_USD
from moot.types.debate import DebateOptions
from moot.types.discussions import DiscussionStatus
from moot.types.errors import UsageError
from moot.types.modes import (
    DEFAULT_ADVISOR_BUDGET,
    DEFAULT_EARLY_TURNS,
    DEFAULT_LESSON_TURNS,
    MAX_LESSON_TURNS,
    AdvisorOptions,
    DirectedOptions,
    ModeName,
)
from moot.types.participants import Participant, participant_id
from moot.types.primitives import ModelName

MessageText = Annotated[str, Meta(min_length=1, max_length=10_000)]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Rounds = Annotated[int, Meta(ge=1, le=10)]
Language = Annotated[str, Meta(min_length=2, max_length=8)]
Id = Annotated[str, Meta(min_length=1, max_length=60)]
ParticipantList = Annotated[list[ModelName | ParticipantInput], Meta(min_length=1, max_length=24)]
MaxCostUsd = Annotated[float, Meta(gt=0, le=MAX_AMOUNT_USD)]
IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A request that comes twice with one key is done once",
    ),
]
FileIds = Annotated[tuple[Id, ...], Meta(max_length=10)]


class DebateRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lead` is a participant's name or id; None is the first. The others are as in a debate's rules."""

    lead: Id | None = None
    quorum: Annotated[int, Meta(ge=1, le=24)] | None = None
    deadline: Annotated[float, Meta(gt=0, le=3600)] | None = None
    gate: bool = False
    ranking: bool = True
    ledger: bool = True

    def to_debate(self, participants: Sequence[Participant]) -> DebateOptions:
        """Turn what was asked for into rules that these participants can keep."""
        known = [who.id for who in participants]
        lead = participant_id(self.lead) if self.lead is not None else None
        if lead is not None and lead not in known:
            raise UsageError(f"debate.lead: nobody is called {self.lead!r}: name one of {', '.join(known)}.")
        if self.quorum is not None and self.quorum > len(known):
            raise UsageError(
                f"debate.quorum: only {len(known)} take part: ask for no more answers than that."
            )
        return DebateOptions(**{**asdict(self), "lead": lead})


class AdvisorRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    early: Annotated[int, Meta(ge=0, le=100)] = DEFAULT_EARLY_TURNS
    budget: Annotated[int, Meta(ge=1000, le=2_000_000)] = DEFAULT_ADVISOR_BUDGET
    cross_talk: bool = False
    synthesis: bool = False

    def to_advisors(self) -> AdvisorOptions:
        return AdvisorOptions(**asdict(self))


class LessonRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`trigger` is the name or id of who speaks first; None lets the director choose."""

    turns: Annotated[int, Meta(ge=1, le=MAX_LESSON_TURNS)] = DEFAULT_LESSON_TURNS
    trigger: Id | None = None
    topic: Annotated[str, Meta(max_length=2000)] = ""

    def to_directed(self, participants: Sequence[Participant]) -> DirectedOptions:
        """Turn what was asked for into rules that these participants can keep."""
        known = [who.id for who in participants]
        trigger = participant_id(self.trigger) if self.trigger is not None else None
        if trigger is not None and trigger not in known:
            raise UsageError(
                f"directed.trigger: nobody is called {self.trigger!r}: name one of {', '.join(known)}."
            )
        return DirectedOptions(turns=self.turns, trigger=trigger, topic=self.topic)


class DiscussionDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`participants` are models, or models with a persona, a name and settings.

    `mode`, left out, is single for one participant and parallel for several. `clerk` is a cheap model that finds a
    title where none is given, and keeps the minutes of debates; `files` are the ids of files that come with the message. `cap` is what the answer may
    cost in US dollars.
    """

    message: MessageText
    participants: ParticipantList
    title: Title | None = None
    mode: ModeName | None = None
    rounds: Rounds = 2
    persona: Id | None = None
    project: Id | None = None
    language: Language | None = None
    model: ModelName | None = None
    debate: DebateRules | None = None
    advisors: AdvisorRules | None = None
    directed: LessonRules | None = None
    clerk: ModelName | None = None
    files: FileIds = ()
    cap: MaxCostUsd | None = None


class DiscussionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes away what can be taken away."""

    title: Title | UnsetType = UNSET
    status: DiscussionStatus | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    participants: ParticipantList | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    persona: Id | UnsetType | None = UNSET
    project: Id | UnsetType | None = UNSET
    language: Language | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET
    debate: DebateRules | UnsetType | None = UNSET
    advisors: AdvisorRules | UnsetType | None = UNSET
    directed: LessonRules | UnsetType | None = UNSET
    clerk: ModelName | UnsetType | None = UNSET


class MessageDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`to` names participants by id; only they answer, and only they ever see it.

    `files` are ids of files, `cap` is what the answer may cost in US dollars.
    """

    message: MessageText
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    files: FileIds = ()
    cap: MaxCostUsd | None = None


class ContinueRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    turns: Annotated[int, Meta(ge=1, le=50)] = 1


class StopRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    participant: Id | None = None


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is asked instead of the participant's own from now on in this run."""

    model: ModelName | None = None


class RegenerateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model` is asked this once; left out, it is the one that was meant to answer then."""

    model: ModelName | None = None


class MessageEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=100_000)]


class VersionSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Id


def require_text(text: str, field: str = "message") -> str:
    """Refuse words that say nothing."""
    if not text.strip():
        raise UsageError(f"{field}: it is empty: write something.")
    return text


PageLimit = Annotated[int, QueryParameter(ge=1, le=100)]
PageCursor = Annotated[
    str | None,
    QueryParameter(
        max_length=200, pattern=r"^[A-Za-z0-9_=-]+(?!\n)$", description="The `next` of the page before"
    ),
]
