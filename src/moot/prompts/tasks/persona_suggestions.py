"""Persona suggestions for a situation: model requests, and validation of the proposals."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from moot.prompts.attachments import quote_block
from moot.prompts.tasks.task import task_request
from moot.prompts.tokens import one_line
from moot.types.chunks import Text
from moot.types.personas import (
    MAX_PROPOSALS,
    MAX_QUESTIONS,
    PROPOSALS_PER_CATEGORY,
    Proposal,
    RejectedProposal,
    Remark,
    SituationAnswer,
)
from moot.types.requests import ModelRequest

MAX_ANSWER_TOKENS = 6000
MAX_NAMES = 200  # existing personas in the prompt
MAX_REJECTED = 2 * MAX_PROPOSALS  # rejected proposals in the response


class Questions(Struct, frozen=True):
    questions: Annotated[tuple[Remark, ...], Meta(max_length=MAX_QUESTIONS)]


def questions_request(situation: str) -> ModelRequest:
    return task_request("ask_about_situation", quote_block("The situation", situation), max_tokens=MAX_ANSWER_TOKENS)


def proposals_request(
    situation: str, replies: Sequence[SituationAnswer], existing_names: Sequence[str]
) -> ModelRequest:
    """The prompt tells the model not to propose `existing_names`."""
    parts: list[Text | str] = [quote_block("The situation", situation)]
    if answered := [one for one in replies if one.answer.strip()]:
        lines = (f"{one_line(one.question, 1000)}\n{one.answer.strip()}" for one in answered)
        parts.append(quote_block("Asked about it, they answered", "\n\n".join(lines)))
    if existing_names:
        parts.append(f"There already, so leave these out: {', '.join(existing_names[:MAX_NAMES])}.")
    return task_request("persona_suggestions", *parts, max_tokens=MAX_ANSWER_TOKENS)


class ProposalFilter:
    """Accepts valid proposals with a new name, up to a limit per category."""

    def __init__(self, existing_names: Collection[str]) -> None:
        self.accepted: list[Proposal] = []
        self.rejected: list[RejectedProposal] = []
        self._names = {_normalize_name(name) for name in existing_names}

    def add_proposal(self, value: dict[str, Any]) -> Proposal | None:
        """Return None if the proposal is rejected; the reason is in `rejected`."""
        result = self._validate_proposal(value)
        if isinstance(result, Proposal):
            self._names.add(_normalize_name(result.name))
            self.accepted.append(result)
            return result
        if len(self.rejected) < MAX_REJECTED:
            self.rejected.append(RejectedProposal(one_line(str(value.get("name") or ""), 60), result))
        return None

    def _validate_proposal(self, value: dict[str, Any]) -> Proposal | str:
        """Return the reason as a string if the value is invalid."""
        try:
            proposal = msgspec.convert({**value, **_normalize_fields(value)}, Proposal)
        except msgspec.ValidationError as error:
            return f"It does not fit: {error}."
        if _normalize_name(proposal.name) in self._names:
            return "There is one of this name already."
        if sum(one.category == proposal.category for one in self.accepted) >= PROPOSALS_PER_CATEGORY:
            return f"There are {PROPOSALS_PER_CATEGORY} of the category {proposal.category} already."
        return proposal


def _normalize_fields(value: dict[str, Any]) -> dict[str, str]:
    """Strip all string values. Also collapse whitespace in `name`, and convert `category` to lower case."""
    texts = {field: text.strip() for field, text in value.items() if isinstance(text, str)}
    if "name" in texts:
        texts["name"] = " ".join(texts["name"].split())
    if "category" in texts:
        texts["category"] = texts["category"].lower()
    return texts


def _normalize_name(name: str) -> str:
    return " ".join(name.split()).casefold()
