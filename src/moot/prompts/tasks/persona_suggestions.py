"""Perspectives for a situation: what a model is asked, and which of its proposals can be used."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from moot.prompts.attachments import quoted
from moot.prompts.templates import written
from moot.prompts.tokens import one_line
from moot.types.chunks import Text
from moot.types.personas import MOST_QUESTIONS, OF_EACH, PROPOSALS, Dropped, Proposal, Remark, Reply
from moot.types.requests import ModelRequest, user

MOST_TOKENS = 6000
NAMES = 200  # of personas that there are, which a model is told
MOST_DROPPED = 2 * PROPOSALS  # that are told of: more would tell nobody anything


class Questions(Struct, frozen=True):
    questions: Annotated[tuple[Remark, ...], Meta(max_length=MOST_QUESTIONS)]


def questioning(situation: str) -> ModelRequest:
    return _request(written("ask_about_situation"), [quoted("The situation", situation)])


def proposing(situation: str, replies: Sequence[Reply], taken: Sequence[str]) -> ModelRequest:
    """Ask for proposals; what is `taken` is not to be proposed."""
    parts: list[Text | str] = [quoted("The situation", situation)]
    if told := [one for one in replies if one.answer.strip()]:
        lines = (f"{one_line(one.question, 1000)}\n{one.answer.strip()}" for one in told)
        parts.append(quoted("Asked about it, they answered", "\n\n".join(lines)))
    if taken:
        parts.append(f"There already, so leave these out: {', '.join(taken[:NAMES])}.")
    return _request(written("propose_perspectives"), parts)


def _request(system: str, parts: Sequence[Text | str]) -> ModelRequest:
    return ModelRequest(model="", system=system, messages=(user(*parts),), max_tokens=MOST_TOKENS)


class Choice:
    """Takes proposals one by one, and keeps only what is new, right, and not too many of one kind."""

    def __init__(self, taken: Collection[str]) -> None:
        self.chosen: list[Proposal] = []
        self.dropped: list[Dropped] = []
        self._taken = {_same(name) for name in taken}

    def take(self, value: dict[str, Any]) -> Proposal | None:
        """Look at what a model wrote; None if it is left out."""
        told = self._checked(value)
        if isinstance(told, Proposal):
            self._taken.add(_same(told.name))
            self.chosen.append(told)
            return told
        if len(self.dropped) < MOST_DROPPED:
            self.dropped.append(Dropped(one_line(str(value.get("name") or ""), 60), told))
        return None

    def _checked(self, value: dict[str, Any]) -> Proposal | str:
        """Read a proposal, or say what is wrong with it."""
        try:
            told = msgspec.convert({**value, **_tidied(value)}, Proposal)
        except msgspec.ValidationError as error:
            return f"It does not fit: {error}."
        if _same(told.name) in self._taken:
            return "There is one of this name already."
        if sum(one.category == told.category for one in self.chosen) >= OF_EACH:
            return f"There are {OF_EACH} of the category {told.category} already."
        return told


def _tidied(value: dict[str, Any]) -> dict[str, str]:
    """Take off what stands around texts; a name is one line, and a category is written small."""
    texts = {field: text.strip() for field, text in value.items() if isinstance(text, str)}
    if "name" in texts:
        texts["name"] = " ".join(texts["name"].split())
    if "category" in texts:
        texts["category"] = texts["category"].lower()
    return texts


def _same(name: str) -> str:
    return " ".join(name.split()).casefold()
