"""What a run will cost, before it starts: which calls its mode makes, how much they read, and how much they say.

Pure: prices are asked for through a function. Nobody knows how long an answer will be, so it is a guess.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice

from msgspec import Struct

from moot.context.prompt import system_prompt
from moot.context.views import everything
from moot.engine.estimate import TOKENS_A_FILE, tokens
from moot.model.chunks import Usage
from moot.model.discussions import Message
from moot.model.money import Purpose
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.modes.debate import FEWEST_TO_RANK

ANSWER = 600  # tokens of an answer, where its participant has no `max_tokens`
ROW = 200  # of minutes, for each participant
VERDICT = 100  # of a ranking, or of a look at whether the answers agree
ASKING = 400  # of what a stage of a debate asks for, and in which form

Priced = Callable[[str, Usage], float | None]


class Line(Struct, frozen=True, kw_only=True):
    """Calls of one kind: what they are for, of which model, and of whom at the table, if of anybody.

    Tokens and cost are those of all of them; the cost is None where nobody knows the price.
    """

    purpose: Purpose
    participant: str | None
    model: str
    calls: int
    input: int
    output: int
    cost: float | None


class Forecast(Struct, frozen=True, kw_only=True):
    """What a run will cost about, in US dollars; `unknown` are models whose price nobody knows: they count 0."""

    lines: tuple[Line, ...]
    calls: int
    input: int
    output: int
    cost: float
    unknown: tuple[str, ...]


class Call(Struct, frozen=True):
    purpose: Purpose
    participant: str | None
    model: str
    input: int
    output: int


def forecast(plan: Plan, words: str | None, earlier: Sequence[Message], priced: Priced) -> Forecast:
    """Add up the calls of a run that answers some words, or to nobody, after all that was said earlier."""
    grouped: dict[tuple[Purpose, str | None, str], list[Call]] = {}
    for call in _calls(plan, words or "", earlier):
        grouped.setdefault((call.purpose, call.participant, call.model), []).append(call)
    lines = tuple(_line(calls, priced) for calls in grouped.values())
    return Forecast(
        lines=lines,
        calls=sum(line.calls for line in lines),
        input=sum(line.input for line in lines),
        output=sum(line.output for line in lines),
        cost=sum(line.cost or 0.0 for line in lines),
        unknown=tuple(dict.fromkeys(line.model for line in lines if line.cost is None)),
    )


def _line(calls: Sequence[Call], priced: Priced) -> Line:
    costs = [priced(call.model, Usage(call.input, call.output)) for call in calls]
    known = [cost for cost in costs if cost is not None]
    return Line(
        purpose=calls[0].purpose,
        participant=calls[0].participant,
        model=calls[0].model,
        calls=len(calls),
        input=sum(call.input for call in calls),
        output=sum(call.output for call in calls),
        cost=sum(known) if len(known) == len(costs) else None,
    )


def _calls(plan: Plan, words: str, earlier: Sequence[Message]) -> Iterator[Call]:
    speaking = plan.speaking
    reads = {who.id: _read(plan, who, words, earlier) for who in speaking}
    match plan.mode:
        case "debate":
            yield from _debate(plan, reads, tokens(words))
        case "consensus":
            rounds = plan.rounds if len(speaking) > 1 else 1
            yield from _in_turn(list(speaking) * rounds, reads)
        case "continue":
            yield from _in_turn(list(islice(cycle(speaking), plan.first, plan.first + plan.turns)), reads)
        case "single":
            yield from _in_turn(speaking[:1], reads)
        case _:
            yield from (_answer(who, reads[who.id]) for who in speaking)


def _in_turn(speakers: Sequence[Participant], reads: dict[str, int]) -> Iterator[Call]:
    """Let one after the other speak, each having heard all before."""
    said = 0
    for who in speakers:
        yield _answer(who, reads[who.id] + said)
        said += _says(who)


def _debate(plan: Plan, reads: dict[str, int], asked: int) -> Iterator[Call]:
    rules, speaking = plan.debate, plan.speaking
    lead = plan.lead
    clerk = plan.clerk or lead.model
    answers = sum(map(_says, speaking))
    minutes = max(ANSWER, ROW * len(speaking))
    for who in speaking:
        yield _answer(who, reads[who.id])
        if len(speaking) > 1:
            yield _answer(who, reads[who.id] + answers + ASKING)
    if rules.gate:
        yield Call("gate", None, clerk, asked + answers + ASKING, VERDICT)
    yield _answer(lead, reads[lead.id] + 2 * answers + ASKING, "synthesis")
    yield Call("summary", None, clerk, asked + 2 * answers + ASKING, minutes)
    if rules.ledger:
        yield Call("ledger", None, clerk, asked + 2 * answers + ASKING, minutes)
    if rules.ranking and len(speaking) >= FEWEST_TO_RANK:
        for who in speaking:
            yield Call("ranking", who.id, who.model, asked + answers - _says(who) + ASKING, VERDICT)


def _answer(who: Participant, reads: int, purpose: Purpose = "answer") -> Call:
    return Call(purpose, who.id, who.model, reads, _says(who))


def _says(who: Participant) -> int:
    return who.max_tokens or ANSWER


def _read(plan: Plan, who: Participant, words: str, earlier: Sequence[Message]) -> int:
    """Count what a participant reads before anybody speaks: its system prompt, what was said, and what is asked."""
    seen = everything(earlier, who.id, "")
    attached = sum(len(message.files or ()) for message in seen) * TOKENS_A_FILE
    said = sum(tokens(message.content) for message in seen)
    return tokens(system_prompt(plan, who)) + said + attached + tokens(words)
