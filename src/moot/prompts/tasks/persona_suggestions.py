"""Perspectives for a situation: what a model is asked, and which of its proposals can be used."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from moot.prompts.attachments import quote_block
from moot.prompts.templates import load_template
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
from moot.types.requests import ModelRequest, user_message

MAX_ANSWER_TOKENS = 6000
MAX_NAMES = 200  # of personas that there are, which a model is told
MAX_REJECTED = 2 * MAX_PROPOSALS  # that are told of: more would tell nobody anything


class Questions(Struct, frozen=True):
    questions: Annotated[tuple[Remark, ...], Meta(max_length=MAX_QUESTIONS)]


def questions_request(situation: str) -> ModelRequest:
    return _suggestion_request(
        load_template("ask_about_situation"), [quote_block("The situation", situation)]
    )


def proposals_request(
    situation: str, replies: Sequence[SituationAnswer], existing_names: Sequence[str]
) -> ModelRequest:
    """Ask for proposals; what is `taken` is not to be proposed."""
    parts: list[Text | str] = [quote_block("The situation", situation)]
    if told := [one for one in replies if one.answer.strip()]:
        lines = (f"{one_line(one.question, 1000)}\n{one.answer.strip()}" for one in told)
        parts.append(quote_block("Asked about it, they answered", "\n\n".join(lines)))
    if existing_names:
        parts.append(f"There already, so leave these out: {', '.join(existing_names[:MAX_NAMES])}.")
    return _suggestion_request(load_template("propose_perspectives"), parts)


def _suggestion_request(system: str, parts: Sequence[Text | str]) -> ModelRequest:
    return ModelRequest(
        model="", system=system, messages=(user_message(*parts),), max_tokens=MAX_ANSWER_TOKENS
    )


class ProposalFilter:
    """Takes proposals one by one, and keeps only what is new, right, and not too many of one kind."""

    def __init__(self, existing_names: Collection[str]) -> None:
        self.accepted: list[Proposal] = []
        self.rejected: list[RejectedProposal] = []
        self._names = {_normalize_name(name) for name in existing_names}

    def add_proposal(self, value: dict[str, Any]) -> Proposal | None:
        """Look at what a model wrote; None if it is left out."""
        told = self._validate_proposal(value)
        if isinstance(told, Proposal):
            self._names.add(_normalize_name(told.name))
            self.accepted.append(told)
            return told
        if len(self.rejected) < MAX_REJECTED:
            self.rejected.append(RejectedProposal(one_line(str(value.get("name") or ""), 60), told))
        return None

    def _validate_proposal(self, value: dict[str, Any]) -> Proposal | str:
        """Read a proposal, or say what is wrong with it."""
        try:
            told = msgspec.convert({**value, **_normalize_fields(value)}, Proposal)
        except msgspec.ValidationError as error:
            return f"It does not fit: {error}."
        if _normalize_name(told.name) in self._names:
            return "There is one of this name already."
        if sum(one.category == told.category for one in self.accepted) >= PROPOSALS_PER_CATEGORY:
            return f"There are {PROPOSALS_PER_CATEGORY} of the category {told.category} already."
        return told


def _normalize_fields(value: dict[str, Any]) -> dict[str, str]:
    """Take off what stands around texts; a name is one line, and a category is written small."""
    texts = {field: text.strip() for field, text in value.items() if isinstance(text, str)}
    if "name" in texts:
        texts["name"] = " ".join(texts["name"].split())
    if "category" in texts:
        texts["category"] = texts["category"].lower()
    return texts


def _normalize_name(name: str) -> str:
    return " ".join(name.split()).casefold()
