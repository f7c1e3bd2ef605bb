"""Request bodies and paging parameters of the API, with their limits."""

from typing import Annotated

from litestar.params import HeaderParameter, QueryParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from moot.services.participants import ParticipantInput
from moot.types.billing import MaxCostUsd
from moot.types.discussions import DiscussionStatus
from moot.types.errors import UsageError
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions, ModeName, Rounds
from moot.types.primitives import PAGE_CURSOR_PATTERN, ModelName

MessageText = Annotated[str, Meta(min_length=1, max_length=10_000)]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Language = Annotated[str, Meta(min_length=2, max_length=8)]
Id = Annotated[str, Meta(min_length=1, max_length=60)]
ParticipantList = Annotated[list[ModelName | ParticipantInput], Meta(min_length=1, max_length=24)]
IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A repeated request with the same key returns the first response",
    ),
]
FileIds = Annotated[tuple[Id, ...], Meta(max_length=10)]


class DiscussionDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request body that creates a discussion with its first message."""

    message: MessageText
    participants: ParticipantList  # models, or objects with a model, persona, name and settings
    title: Title | None = None
    mode: ModeName | None = None  # default: `single` for one participant, `parallel` for several
    rounds: Rounds = 2
    persona: Id | None = None
    project: Id | None = None
    language: Language | None = None
    model: ModelName | None = None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    task_model: ModelName | None = None  # cheap task model for the title and the debate report
    files: FileIds = ()  # attached to the message
    max_cost_usd: MaxCostUsd | None = None  # US dollars for this run


class DiscussionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request body that changes a discussion. Omitted fields keep their value; null clears an optional field."""

    title: Title | UnsetType = UNSET
    status: DiscussionStatus | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    participants: ParticipantList | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    persona: Id | UnsetType | None = UNSET
    project: Id | UnsetType | None = UNSET
    language: Language | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET
    debate: DebateOptions | UnsetType | None = UNSET
    advisors: AdvisorOptions | UnsetType | None = UNSET
    directed: DirectedOptions | UnsetType | None = UNSET
    task_model: ModelName | UnsetType | None = UNSET


class MessageDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    message: MessageText
    # Participant ids. Only these participants see the message and answer it.
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    files: FileIds = ()
    max_cost_usd: MaxCostUsd | None = None  # US dollars for this run


class ContinueRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    turns: Annotated[int, Meta(ge=1, le=50)] = 1


class StopRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    participant: Id | None = None


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: ModelName | None = None  # replaces the participant's model for the rest of the run


class RegenerateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: ModelName | None = None  # for this turn only; default: the model of the original turn


class MessageEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=100_000)]


class VersionSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Id


def require_text(text: str, field: str = "message") -> str:
    """Raises `UsageError` if the text is blank."""
    if not text.strip():
        raise UsageError(f"{field}: it is empty: write something.")
    return text


PageLimit = Annotated[int, QueryParameter(ge=1, le=100)]
PageCursor = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        pattern=PAGE_CURSOR_PATTERN,
        description="The `next` field of the previous page",
    ),
]
