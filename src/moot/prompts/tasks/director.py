"""Speaker selection in a directed discussion (lesson): rules first, then a model task.

Pure: the same context returns the same decision. A fallback exists, so there is always a decision.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal

from msgspec import Struct, defstruct

from moot.prompts.lesson import replay_messages, turn_action_names
from moot.prompts.tasks.task import AnalysisTask, accept_any_answer, make_cache_key, task_request
from moot.prompts.visibility import messages_visible_to_all
from moot.types.discussions import Message
from moot.types.events import ANSWERED_STATUSES, SpeakerSelected
from moot.types.modes import LESSON_ENDS, LESSON_STAGE, PREVIEW_CHARACTERS, USER_SPEAKS_NEXT
from moot.types.participants import LessonRole, Participant
from moot.types.run_plan import RunPlan
from moot.whiteboard.describe import describe_board
from moot.whiteboard.state import EMPTY_BOARD, Board

MAX_MESSAGES, MAX_MESSAGE_CHARACTERS = 10, 200  # in the prompt of the director
MAX_SILENT_TURNS = 2  # so many empty turns in a row end the lesson
QUESTION_MARK_PATTERN = re.compile("[?\uff1f\u061f]")
SPACED_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"  # a letter of a script with spaces between words
ROLE_ORDER: tuple[LessonRole | None, ...] = ("teacher", "assistant", "student", None)


class TurnPreview(Struct, frozen=True, kw_only=True):
    """A past turn in this run."""

    participant: str
    name: str
    preview: str = ""
    actions: tuple[str, ...] = ()

    @property
    def is_silent(self) -> bool:
        return not self.preview.strip() and not self.actions


class DirectorMessage(Struct, frozen=True):
    name: str
    text: str
    is_person: bool = False


class DirectorContext(Struct, frozen=True, kw_only=True):
    """All input of a decision."""

    participants: tuple[Participant, ...]
    max_turns: int
    turn: int  # index of the next turn in this run
    previous_turns: tuple[TurnPreview, ...] = ()  # of this run
    messages: tuple[DirectorMessage, ...] = ()  # of all runs
    trigger: str | None = None  # id of the participant that starts the lesson
    topic: str = ""
    board: Board = EMPTY_BOARD

    @property
    def last_user_message(self) -> str:
        """Empty string if the user has sent no message."""
        return next((one.text for one in reversed(self.messages) if one.is_person), "")


def build_director_context(
    plan: RunPlan, messages: Sequence[Message], run: str, turn: int, excluded_ids: Collection[str] = ()
) -> DirectorContext:
    """Build the context before a turn. `excluded_ids`: participants that cannot be selected any more.

    After a crash the run replays its turns. Messages of later turns are ignored, so the decision stays the same.
    """
    known = messages_visible_to_all(messages, [who.id for who in plan.responding_participants])
    before = [m for m in known if not m.hidden and (m.run != run or m.stage != LESSON_STAGE or m.round < turn)]
    begun = any(m.run != run and m.stage == LESSON_STAGE for m in before)
    turns = sorted((m for m in before if m.run == run and m.stage == LESSON_STAGE), key=lambda m: m.round)
    spoken = [m for m in before if m.content.strip() and m.status != "failed" and m.role != "system"]
    return DirectorContext(
        participants=tuple(who for who in plan.responding_participants if who.id not in excluded_ids),
        max_turns=plan.directed.turns,
        turn=turn,
        previous_turns=tuple(map(_turn_preview, turns)),
        messages=tuple(DirectorMessage(m.name or "The user", m.content, m.role == "user") for m in spoken),
        trigger=None if begun else plan.directed.first_speaker,
        topic=plan.directed.topic,
        board=replay_messages(before),
    )


def decide_by_rules(context: DirectorContext) -> SpeakerSelected | None:
    """Return None if the rules allow more than one choice; then a model decides."""
    turns = context.previous_turns[-MAX_SILENT_TURNS:]
    if not context.participants:
        return _make_decision(context, LESSON_ENDS, "No participant can speak.")
    if context.turn >= context.max_turns:
        taken = "The one turn was taken." if context.max_turns == 1 else f"All {context.max_turns} turns were taken."
        return _make_decision(context, LESSON_ENDS, taken)
    if len(turns) == MAX_SILENT_TURNS and all(one.is_silent for one in turns):
        return _make_decision(context, LESSON_ENDS, "Two turns in a row were empty.")
    if len(context.participants) == 1:
        alone = context.participants[0]
        if context.turn == 0 or (
            context.previous_turns and alone.id not in {one.participant for one in context.previous_turns}
        ):
            return _make_decision(context, alone.id, f"Only {alone.name} can speak.")
        silent = context.previous_turns and context.previous_turns[-1].is_silent
        answered = "could not answer" if silent else "has answered"
        return _make_decision(context, USER_SPEAKS_NEXT, f"{alone.name} {answered}.")
    if context.turn == 0 and context.trigger in {who.id for who in context.participants}:
        return _make_decision(context, context.trigger or "", "Selected as the first speaker.")
    if named := _find_addressed_participant(context):
        return _make_decision(context, named.id, f"The user spoke to {named.name}.")
    if QUESTION_MARK_PATTERN.search(context.last_user_message) and all(one.is_silent for one in context.previous_turns):
        return _make_decision(context, speaker_candidates(context)[0].id, "The user's question waits for an answer.")
    return None


def fallback_decision(context: DirectorContext) -> SpeakerSelected:
    """Used if the model task fails."""
    return _make_decision(context, speaker_candidates(context)[0].id, "Has spoken least so far.")


def speaker_candidates(context: DirectorContext) -> Sequence[Participant]:
    """Best candidate first. Excludes the last speaker, and participants two or more turns ahead of the others."""
    last = context.previous_turns[-1].participant if context.previous_turns else None
    taken = Counter(one.participant for one in context.previous_turns)
    others = [who for who in context.participants if who.id != last]
    least = min(taken[who.id] for who in others)
    fair = [who for who in others if taken[who.id] <= least + 1]
    return sorted(fair, key=lambda who: (taken[who.id], -who.priority, ROLE_ORDER.index(who.role)))


def director_task(context: DirectorContext) -> AnalysisTask:
    """The model may also return the user or the end, but not for the first turn. One attempt only."""
    able = [who.id for who in speaker_candidates(context)]
    choices = tuple(able if context.turn == 0 else [*able, USER_SPEAKS_NEXT, LESSON_ENDS])
    form = defstruct("Choice", [("next", Literal[choices]), ("reason", str)], frozen=True)
    cache_key = _decision_cache_key(context)

    def to_result(answer: Any) -> SpeakerSelected:
        return SpeakerSelected(
            cache_key=cache_key, turn=context.turn, next=answer.next, reason=answer.reason[:300], decided_by="model"
        )

    return AnalysisTask(
        cache_key=cache_key,
        request=task_request("direct", _render_material(context, choices)),
        answer_type=form,
        to_result=to_result,
        check=accept_any_answer,
        max_attempts=1,
    )


def _make_decision(context: DirectorContext, next: str, reason: str) -> SpeakerSelected:
    return SpeakerSelected(cache_key=_decision_cache_key(context), turn=context.turn, next=next, reason=reason)


def _decision_cache_key(context: DirectorContext) -> str:
    """Includes which turns were empty: a retry that changes a turn also changes the key."""
    return make_cache_key(
        "decision", str(context.turn), *(f"{one.participant} {one.is_silent}" for one in context.previous_turns)
    )


def _find_addressed_participant(context: DirectorContext) -> Participant | None:
    """The first participant that the user's message names and that has no turn in this run yet."""
    spoken = {one.participant for one in context.previous_turns}
    places: list[tuple[int, Participant]] = []
    for who in context.participants:
        name = rf"(?<!{SPACED_LETTER}){re.escape(who.name)}(?!{SPACED_LETTER})"
        place = re.search(name, context.last_user_message, re.IGNORECASE)
        if place and who.id not in spoken:
            places.append((place.start(), who))
    return min(places, key=lambda found: found[0])[1] if places else None


def _turn_preview(message: Message) -> TurnPreview:
    text = message.content.strip() if message.status in {*ANSWERED_STATUSES, "stopped", "interrupted"} else ""
    return TurnPreview(
        participant=message.participant or "",
        name=message.name or "",
        preview=text[:PREVIEW_CHARACTERS],
        actions=turn_action_names(message),
    )


def _render_material(context: DirectorContext, choices: Sequence[str]) -> str:
    parts = [
        _render_topic(context),
        "At the table:\n" + "\n".join(map(_render_participant, context.participants)),
        "The last words, oldest first:\n" + "\n".join(map(_render_message, context.messages[-MAX_MESSAGES:])),
        "Turns since the user spoke:\n" + ("\n".join(map(_render_turn, context.previous_turns)) or "none yet"),
        describe_board(context.board, {who.id: who.name for who in context.participants}),
        f"Turn {context.turn + 1} of {context.max_turns}. You may choose: {', '.join(choices)}",
    ]
    return "\n\n".join(part for part in parts if part)


def _render_topic(context: DirectorContext) -> str:
    opened = next((f" (opened by {who.name})" for who in context.participants if who.id == context.trigger), "")
    return f"The topic{opened}: {context.topic}" if context.topic else ""


def _render_participant(who: Participant) -> str:
    return f"- {who.id}: {who.name}, {who.role or 'participant'}, priority {who.priority}"


def _render_message(message: DirectorMessage) -> str:
    return f"- {message.name} ({'person' if message.is_person else 'agent'}): {' '.join(message.text.split())[:MAX_MESSAGE_CHARACTERS]}"


def _render_turn(turn: TurnPreview) -> str:
    did = f" [{len(turn.actions)} actions: {', '.join(dict.fromkeys(turn.actions))}]" if turn.actions else ""
    return f"- {turn.name}: {' '.join(turn.preview.split()) or '(nothing)'}{did}"
