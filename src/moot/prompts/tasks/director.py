"""Who has the word next in a directed discussion: rules first, and a model only where they leave a choice.

Pure: the same floor gives the same decision, and there always is one.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal

from msgspec import Struct, defstruct

from moot.prompts.lesson import actions_in, board_of
from moot.prompts.tasks.task import Inquiry, anything, basis, requested
from moot.prompts.visibility import shared
from moot.types.discussions import Message
from moot.types.events import ANSWERED, Decided
from moot.types.modes import END, PREVIEW, STAGE, USER, LessonRole
from moot.types.participants import Participant
from moot.types.run_plan import Plan
from moot.whiteboard.describe import digest
from moot.whiteboard.state import EMPTY, Board

LAST, SHORT = 10, 200  # messages that are read, and characters of each
SILENCE = 2  # turns in a row without content that end it
QUESTION = re.compile("[?\uff1f\u061f]")
SPACED = r"[^\W\u3040-\u30ff\u3400-\u9fff]"  # a letter of a script that puts spaces between words
ROLES: tuple[LessonRole | None, ...] = ("teacher", "assistant", "student", None)


class Spoke(Struct, frozen=True, kw_only=True):
    """A turn that was taken; without a preview and actions, it came to nothing."""

    participant: str
    name: str
    preview: str = ""
    actions: tuple[str, ...] = ()

    @property
    def is_silent(self) -> bool:
        return not self.preview.strip() and not self.actions


class Heard(Struct, frozen=True):
    """What somebody said; people are told from agents by `person`."""

    name: str
    text: str
    person: bool = False


class Floor(Struct, frozen=True, kw_only=True):
    """All that a decision rests on: who is there, how many turns were taken of how many, and what came of them."""

    agents: tuple[Participant, ...]
    limit: int
    turn: int
    spoke: tuple[Spoke, ...] = ()
    heard: tuple[Heard, ...] = ()
    trigger: str | None = None
    topic: str = ""
    board: Board = EMPTY

    @property
    def last_words(self) -> str:
        """The last thing that a person said."""
        return next((one.text for one in reversed(self.heard) if one.person), "")


def floor_of(
    plan: Plan, said: Sequence[Message], run: str, turn: int, without: Collection[str] = ()
) -> Floor:
    """See how things stand before a turn; what was said in later ones, before a crash, is not looked at.

    `without` are those who will not speak any more.
    """
    known = shared(said, [who.id for who in plan.speaking])
    before = [m for m in known if not m.hidden and (m.run != run or m.stage != STAGE or m.round < turn)]
    begun = any(m.run != run and m.stage == STAGE for m in before)
    turns = sorted((m for m in before if m.run == run and m.stage == STAGE), key=lambda m: m.round)
    spoken = [m for m in before if m.content.strip() and m.status != "failed" and m.role != "system"]
    return Floor(
        agents=tuple(who for who in plan.speaking if who.id not in without),
        limit=plan.directed.turns,
        turn=turn,
        spoke=tuple(map(_spoke, turns)),
        heard=tuple(Heard(m.name or "The user", m.content, m.role == "user") for m in spoken),
        trigger=None if begun else plan.directed.trigger,
        topic=plan.directed.topic,
        board=board_of(before),
    )


def by_rules(floor: Floor) -> Decided | None:
    """Decide where no choice is left; None where a model may choose."""
    turns = floor.spoke[-SILENCE:]
    if not floor.agents:
        return _decided(floor, END, "Nobody is left who could speak.")
    if floor.turn >= floor.limit:
        return _decided(
            floor,
            END,
            "The one turn was taken." if floor.limit == 1 else f"All {floor.limit} turns were taken.",
        )
    if len(turns) == SILENCE and all(one.is_silent for one in turns):
        return _decided(floor, END, "Two turns in a row came to nothing.")
    if len(floor.agents) == 1:
        alone = floor.agents[0]
        if floor.turn == 0 or (floor.spoke and alone.id not in {one.participant for one in floor.spoke}):
            return _decided(floor, alone.id, f"Only {alone.name} is here.")
        silent = floor.spoke and floor.spoke[-1].is_silent
        answered = "could not answer" if silent else "has answered"
        return _decided(floor, USER, f"{alone.name} {answered}.")
    if floor.turn == 0 and floor.trigger in {who.id for who in floor.agents}:
        return _decided(floor, floor.trigger or "", "Chosen to begin.")
    if named := _named(floor):
        return _decided(floor, named.id, f"The user spoke to {named.name}.")
    if QUESTION.search(floor.last_words) and all(one.is_silent for one in floor.spoke):
        return _decided(floor, candidates(floor)[0].id, "The user's question waits for an answer.")
    return None


def fallback(floor: Floor) -> Decided:
    """Decide where the model did not: whoever has spoken least."""
    return _decided(floor, candidates(floor)[0].id, "Has spoken least so far.")


def candidates(floor: Floor) -> Sequence[Participant]:
    """List who may speak, the first choice first: nobody twice in a row, and nobody much more than another."""
    last = floor.spoke[-1].participant if floor.spoke else None
    taken = Counter(one.participant for one in floor.spoke)
    others = [who for who in floor.agents if who.id != last]
    least = min(taken[who.id] for who in others)
    fair = [who for who in others if taken[who.id] <= least + 1]
    return sorted(fair, key=lambda who: (taken[who.id], -who.priority, ROLES.index(who.role)))


def ask(floor: Floor) -> Inquiry:
    """Ask a model to choose among those who may speak; the first turn is not the user's."""
    able = [who.id for who in candidates(floor)]
    choices = tuple(able if floor.turn == 0 else [*able, USER, END])
    form = defstruct("Choice", [("next", Literal[choices]), ("reason", str)], frozen=True)
    rests_on = _basis(floor)

    def found(told: Any) -> Decided:
        return Decided(basis=rests_on, turn=floor.turn, next=told.next, reason=told.reason[:300], by="model")

    return Inquiry(
        basis=rests_on,
        request=requested("direct", _material(floor, choices)),
        answer=form,
        found=found,
        check=anything,
        asks=1,
    )


def _decided(floor: Floor, next: str, reason: str) -> Decided:
    return Decided(basis=_basis(floor), turn=floor.turn, next=next, reason=reason)


def _basis(floor: Floor) -> str:
    """Name what a decision rests on: where something is tried again, it is made anew."""
    return basis("decision", str(floor.turn), *(f"{one.participant} {one.is_silent}" for one in floor.spoke))


def _named(floor: Floor) -> Participant | None:
    """Find the first whom the user named, and who has not spoken since."""
    spoken = {one.participant for one in floor.spoke}
    places = [
        (place.start(), who)
        for who in floor.agents
        if who.id not in spoken
        and (
            place := re.search(
                rf"(?<!{SPACED}){re.escape(who.name)}(?!{SPACED})", floor.last_words, re.IGNORECASE
            )
        )
    ]
    return min(places, key=lambda found: found[0])[1] if places else None


def _spoke(message: Message) -> Spoke:
    said = message.content.strip() if message.status in {*ANSWERED, "stopped", "interrupted"} else ""
    return Spoke(
        participant=message.participant or "",
        name=message.name or "",
        preview=said[:PREVIEW],
        actions=actions_in(message),
    )


def _material(floor: Floor, choices: Sequence[str]) -> str:
    parts = [
        _topic(floor),
        "At the table:\n" + "\n".join(map(_introduced, floor.agents)),
        "The last words, oldest first:\n" + "\n".join(map(_quoted, floor.heard[-LAST:])),
        "Turns since the user spoke:\n" + ("\n".join(map(_reported, floor.spoke)) or "none yet"),
        digest(floor.board, {who.id: who.name for who in floor.agents}),
        f"Turn {floor.turn + 1} of {floor.limit}. You may choose: {', '.join(choices)}",
    ]
    return "\n\n".join(part for part in parts if part)


def _topic(floor: Floor) -> str:
    opened = next((f" (opened by {who.name})" for who in floor.agents if who.id == floor.trigger), "")
    return f"The topic{opened}: {floor.topic}" if floor.topic else ""


def _introduced(who: Participant) -> str:
    return f"- {who.id}: {who.name}, {who.role or 'participant'}, priority {who.priority}"


def _quoted(one: Heard) -> str:
    return f"- {one.name} ({'person' if one.person else 'agent'}): {' '.join(one.text.split())[:SHORT]}"


def _reported(one: Spoke) -> str:
    did = f" [{len(one.actions)} actions: {', '.join(dict.fromkeys(one.actions))}]" if one.actions else ""
    return f"- {one.name}: {' '.join(one.preview.split()) or '(nothing)'}{did}"
