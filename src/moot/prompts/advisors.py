"""What an advisor is sent: its own thread with the person, and beside it what the others said last turn, or just now.

Pure. The thread is cut to a window: the oldest turns go first, then the words of the others; the system prompt and the
message that is to be answered are always there.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from moot.prompts.parts import Attached, Piece, enclosures
from moot.prompts.templates import filled, written
from moot.prompts.tokens import fitted, listed, one_line, tokens, tokens_of
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.events import ANSWERED
from moot.types.participants import Participant
from moot.types.run_plan import Plan

NAME = 60
PASSES = frozenset({"pass", "pass."})

Turn = list[Piece]  # what the person said, and what was answered


def identity(plan: Plan, who: Participant, seen: Sequence[Message]) -> str:
    """Say who one is; and, where the person is to be answered, whether to ask or to speak freely."""
    others = [one_line(one.name, NAME) for one in plan.speaking if one.id != who.id]
    layers = [filled("advisor", {"name": one_line(who.name, NAME), "others": listed(others)})]
    if not seen or not seen[-1].hidden:
        now = seen[-1].run if seen else None
        turns = {one.run for one in seen if one.participant == who.id and one.run != now}
        layers.append(written("advisor_asks" if len(turns) < plan.advisors.early else "advisor_engages"))
    return "\n\n".join(layers)


def thread(
    plan: Plan,
    who: Participant,
    seen: Sequence[Message],
    instruction: str,
    attached: Attached,
    system: str,
) -> list[Piece]:
    """Write a thread as far as it fits into the window."""
    now = seen[-1].run if seen else None
    others = [one for one in seen if one.participant not in {None, who.id}]
    mine = [one for one in seen if one.participant in {None, who.id} and not _passed(one)]
    turns = _turns([one for one in mine if one.run != now], attached)
    current = [piece for one in mine if one.run == now for piece in _told(one, attached)]
    if instruction:
        current.append(Piece("user", "instruction", Text(instruction)))
    elif not current or current[-1].role == "assistant":
        current.append(Piece("user", "filler", Text(written("your_turn"))))
    block = Text(_block("advisor_reference", others)) if any(map(_speaks, others)) else None
    reference = [Piece("user", "reference", block)] if block else []
    rate = plan.measure(who.model).characters_per_token
    left = window(plan, who) - tokens(system, rate) - _size([*reference, *current], rate)
    if left < 0:
        return current
    return [*_newest(turns, left, rate), *reference, *current]


def window(plan: Plan, who: Participant) -> int:
    """Say how many tokens an advisor may be sent: what its model can hold, less its answer, and not over the budget."""
    measure = plan.measure(who.model)
    if measure.context is None:
        return plan.advisors.budget
    answer = min(who.max_tokens or measure.answer, measure.context // 2)
    return min(plan.advisors.budget, measure.context - answer)


def talk_back(said: Sequence[Message], run: str, participant: str, room: int) -> str:
    """Hand somebody what the others have just answered, and let it reply."""
    others = [one for one in _said_now(said, run) if one.participant != participant]
    return _block("advisor_cross_talk", [one for one in others if one.stage != "cross_talk"], room)


def draw_together(said: Sequence[Message], run: str, participant: str, room: int) -> str:  # noqa: ARG001 - a Brief
    """Ask for what all answers of this turn come to."""
    return _block("advisor_synthesis", _said_now(said, run), room)


def _said_now(said: Sequence[Message], run: str) -> list[Message]:
    mine = (one for one in said if one.run == run and one.role == "assistant" and one.status in ANSWERED)
    return sorted(filter(_speaks, mine), key=lambda one: (one.stage == "cross_talk", one.participant or ""))


def _turns(thread: Sequence[Message], attached: Attached) -> list[Turn]:
    """Part a thread into turns; each begins with words of the person."""
    turns: list[Turn] = []
    for one in thread:
        if one.role == "user":
            turns.append([])
        elif not turns:
            turns.append([Piece("user", "filler", Text(written("not_shown")))])
        turns[-1] += _told(one, attached)
    return turns


def _newest(turns: Sequence[Turn], left: int, rate: float) -> list[Piece]:
    """Keep the newest turns, as many as there is room for."""
    first = len(turns)
    while first and (left := left - _size(turns[first - 1], rate)) >= 0:
        first -= 1
    return [piece for turn in turns[first:] for piece in turn]


def _told(one: Message, attached: Attached) -> list[Piece]:
    if one.role != "user":
        return [Piece("assistant", "own", Text(one.content), one.name, one.id)]
    if one.hidden:
        return [Piece("user", "instruction", Text(one.content), None, one.id)]
    at = datetime.fromtimestamp(one.created_at, UTC)
    words = Text(f"[{at:%Y-%m-%d %H:%M}] {one.content}")
    return [*enclosures(attached, one.id), Piece("user", "message", words, None, one.id)]


def _block(prompt: str, answers: Sequence[Message], room: int | None = None) -> str:
    """Put answers under the names of those who gave them."""
    spoken = [one for one in answers if _speaks(one)]
    texts = [one.content.strip() for one in spoken]
    blocks = zip(map(_heading, spoken), texts if room is None else fitted(texts, room), strict=True)
    return written(prompt).format(answers="\n\n".join(f"{head}\n{text}" for head, text in blocks))


def _heading(one: Message) -> str:
    name = one_line(one.name or one.participant or "", NAME)
    to_others = ", to the others" if one.stage == "cross_talk" else ""
    cut_off = " (cut off)" if one.status != "completed" else ""
    return f"{name}{to_others}{cut_off}:"


def _speaks(one: Message) -> bool:
    return one.content.strip() != "" and not _passed(one)


def _passed(one: Message) -> bool:
    """Tell whether somebody had nothing to say to the others: nobody need hear of that again."""
    return one.stage == "cross_talk" and not one.hidden and one.content.strip().lower() in PASSES


def _size(told: Sequence[Piece], rate: float) -> int:
    return tokens_of((piece.part for piece in told), rate)
