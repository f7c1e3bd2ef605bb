"""Request bodies and paging parameters of the API, with their limits."""

from typing import Annotated

from litestar.params import HeaderParameter, QueryParameter
from msgspec import Meta, Struct

from moot.services.run_plans import FileIds, Id, MessageText
from moot.types.billing import MaxCostUsd
from moot.types.primitives import PAGE_CURSOR_PATTERN, ModelName

IdempotencyKey = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A repeated request with the same key returns the first response",
    ),
]


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


PageLimit = Annotated[int, QueryParameter(ge=1, le=100)]
PageCursor = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        pattern=PAGE_CURSOR_PATTERN,
        description="The `next` field of the previous page",
    ),
]
