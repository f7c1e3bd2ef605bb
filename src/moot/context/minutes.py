"""The minutes of a debate: what a model is asked about it afterwards, and what is made of its answers.

Whom an answer is about is never left to the model: participants are fields or labels of the form it fills in, and
a quote counts only if it is in the answer that it is taken from.
"""

import random
import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Literal

from msgspec import Struct, defstruct

from moot.context.debate import BETWEEN, Position, fitted, positions, question
from moot.context.inquiry import Inquiry, basis, requested
from moot.model.debates import (
    Claim,
    CrossModel,
    Flip,
    Ledger,
    PerModel,
    Place,
    Ranking,
    Summary,
    Voice,
)
from moot.model.discussions import Message
from moot.model.events import Agreed, BallotCast, LedgerMade, RankingMade, SummaryMade
from moot.model.participants import Participant

SHORTEST_QUOTE = 12  # characters; fewer would be in any answer
AROUND = r"\A(?:[\s\"'“”„»«\u2018\u2019…]|\.\.\.)+"  # what models put before a quote, and after it


class Row(Struct, frozen=True, rename="camel"):
    initial_summary: str
    refined_summary: str
    changed_position: bool
    key_points: tuple[str, ...]


class Verdict(Struct, frozen=True):
    agree: bool
    reason: str


def agreement(said: Sequence[Message], run: str, room: int) -> Inquiry:
    """Ask whether the first answers say the same."""
    found = positions(said, run)
    labels = _labels(found)
    material = _material(question(said, run), {label: [one.first] for label, one in labels.items()}, room)
    rests_on = basis("agreed", material)
    costs = [one.first.cost for one in found]
    saved = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Inquiry(
        purpose="gate",
        basis=rests_on,
        request=requested("do_they_agree", material),
        answer=Verdict,
        found=lambda told: Agreed(basis=rests_on, agree=told.agree, reason=told.reason, saved=saved),
        check=lambda told: None if told.reason.strip() else "`reason` is empty",
    )


def summary(said: Sequence[Message], run: str, room: int, *, participants: Sequence[Participant]) -> Inquiry:
    """Ask for the structured summary: a row for each who answered, by the form itself."""
    asked = question(said, run)
    labels = _labels(positions(said, run))
    material = _material(asked, {label: [one.first, one.final] for label, one in labels.items()}, room)
    rests_on = basis("summary", material)
    heads: list[Any] = [
        ("overview", str),
        ("agreements", tuple[str, ...]),
        ("disagreements", tuple[str, ...]),
        ("convergence", str),
    ]
    form = defstruct("Minutes", [*heads, *((label, Row) for label in labels)], frozen=True)

    def found(told: Any) -> SummaryMade:
        rows = {one.participant: getattr(told, label) for label, one in labels.items()}
        return SummaryMade(basis=rests_on, summary=_summary(asked, told, rows, participants))

    return Inquiry(
        purpose="summary",
        basis=rests_on,
        request=requested("minutes", material),
        answer=form,
        found=found,
        check=lambda told: None if told.overview.strip() else "`overview` is empty",
    )


def ballot(said: Sequence[Message], run: str, room: int, *, voter: str) -> Inquiry:
    """Ask a participant to judge the others' answers, without names and in an order of its own."""
    found = positions(said, run)
    others = [one for one in found if one.participant != voter]
    random.Random(f"{run} {voter}").shuffle(others)  # noqa: S311 - the same again after a crash, not secret
    labels = dict(zip(ascii_uppercase, others, strict=False))
    names = [one.name for one in found]
    texts = fitted([_nameless(one.final.content.strip(), names) for one in others], room)
    answers = BETWEEN.join(f"### Answer {label}\n{text}" for label, text in zip(labels, texts, strict=True))
    material = f"The question:\n{question(said, run)}\n\n{answers}"
    rests_on = basis("ballot", voter, material)
    form = defstruct("Scores", [(label, int) for label in labels], frozen=True)

    def order(told: Any) -> tuple[tuple[str, ...], ...]:
        scores = {one.participant: getattr(told, label) for label, one in labels.items()}
        return tuple(
            tuple(who for who, score in scores.items() if score == level)
            for level in sorted(set(scores.values()), reverse=True)
        )

    return Inquiry(
        purpose="ranking",
        basis=rests_on,
        request=requested("judge", material),
        answer=form,
        found=lambda told: BallotCast(basis=rests_on, participant=voter, order=order(told)),
        check=lambda told: _out_of_range([getattr(told, label) for label in labels]),
    )


def ranking(ballots: Sequence[BallotCast]) -> RankingMade:
    """Count by Borda: a point for each answer below, half a one for each beside. Fewer votes count as much."""
    points: dict[str, float] = {}
    votes: dict[str, int] = {}
    for one in ballots:
        below = sum(len(level) for level in one.order)
        for level in one.order:
            below -= len(level)
            for who in level:
                points[who] = points.get(who, 0.0) + below + (len(level) - 1) / 2
                votes[who] = votes.get(who, 0) + 1
    best = sorted(points, key=lambda who: (-points[who] / votes[who], who))
    places = tuple(Place(participant=who, points=points[who], votes=votes[who]) for who in best)
    told = Ranking(places=places, ballots={one.participant: one.order for one in ballots})
    return RankingMade(basis=basis("ranking", *sorted(one.basis for one in ballots)), ranking=told)


def ledger(said: Sequence[Message], run: str, room: int) -> Inquiry:
    """Ask who claims what in which words, and who changed position after whose argument."""
    labels = _labels(positions(said, run))
    shown = {label: [one.first, one.final] for label, one in labels.items()}
    material = _material(question(said, run), shown, room)
    rests_on = basis("ledger", material)
    return Inquiry(
        purpose="ledger",
        basis=rests_on,
        request=requested("keep_the_ledger", material),
        answer=_ledger_form(tuple(labels)),
        found=lambda told: LedgerMade(basis=rests_on, ledger=_ledger(told, labels)),
        check=lambda told: None if told.claims else "`claims` is empty: name at least one",
    )


def _labels(found: Sequence[Position]) -> dict[str, Position]:
    return {f"p{place}": one for place, one in enumerate(found, start=1)}


def _material(asked: str, answers: Mapping[str, Sequence[Message]], room: int) -> str:
    """Write out the question and who answered what, first and then; the same text is not written twice."""
    blocks: list[tuple[str, str]] = []
    for label, messages in answers.items():
        for message in dict.fromkeys(messages):
            when = "after reading the others" if message.stage == "debate" else "first answer"
            blocks.append((f"### {label}: {message.name}, {when}", message.content.strip()))
    texts = fitted([text for _, text in blocks], room)
    written_out = (f"{head}\n{text}" for (head, _), text in zip(blocks, texts, strict=True))
    return BETWEEN.join([f"The question:\n{asked}", *written_out])


def _summary(asked: str, told: Any, rows: Mapping[str, Row], participants: Sequence[Participant]) -> Summary:
    """Give each participant its one row; whoever did not answer has an empty one."""
    empty = Row("", "", changed_position=False, key_points=())
    return Summary(
        original_prompt=asked,
        overview=told.overview,
        cross_model=CrossModel(
            agreements=told.agreements,
            disagreements=told.disagreements,
            convergence_summary=told.convergence,
        ),
        per_model=tuple(_row(who.id, rows.get(who.id, empty)) for who in participants),
    )


def _row(participant: str, row: Row) -> PerModel:
    return PerModel(
        participant=participant,
        initial_summary=row.initial_summary,
        refined_summary=row.refined_summary,
        changed_position=row.changed_position,
        key_points=row.key_points,
    )


def _nameless(text: str, names: Sequence[str]) -> str:
    """Take the names out of an answer, so that nobody is judged by who they are."""
    named = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{named})(?!\w)", "[one of them]", text)


def _out_of_range(scores: Sequence[int]) -> str | None:
    return None if all(0 <= score <= 100 for score in scores) else "scores go from 0 to 100"


def _ledger_form(labels: tuple[str, ...]) -> type[Struct]:
    """Make the form of a ledger in which nobody but those who took part can be named."""
    who: Any = Literal.__getitem__(labels)
    voices: Any = list[defstruct("Said", [("who", who), ("quote", str)])]  # type: ignore[misc]
    sides = [("claim", str), ("supporters", voices), ("opponents", voices)]
    change = [("who", who), ("before", str), ("after", str), ("because_of", who | None), ("quote", str)]
    claims: Any = list[defstruct("AskedClaim", sides)]  # type: ignore[misc]
    flips: Any = list[defstruct("AskedFlip", change, rename="camel")]  # type: ignore[misc]
    return defstruct("AskedLedger", [("claims", claims), ("flips", flips)])


def _ledger(told: Any, labels: Mapping[str, Position]) -> Ledger:
    """Keep what can be proven: who is quoted said so, word by word."""
    asked = [said for one in told.claims for said in (*one.supporters, *one.opponents)]
    claims = [_claim(one, labels) for one in told.claims]
    flips = [flip for one in told.flips if (flip := _flip(one, labels)) is not None]
    proven = sum(len(one.supporters) + len(one.opponents) for one in claims)
    return Ledger(
        claims=tuple(one for one in claims if one.supporters or one.opponents),
        flips=tuple(flips),
        unproven=len(asked) - proven + len(told.flips) - len(flips),
    )


def _claim(one: Any, labels: Mapping[str, Position]) -> Claim:
    supporters, opponents = _voices(one.supporters, labels), _voices(one.opponents, labels)
    few = len({voice.participant for voice in supporters}) * 2 < len(labels)
    return Claim(
        claim=one.claim, supporters=supporters, opponents=opponents, minority=bool(supporters) and few
    )


def _voices(said: Sequence[Any], labels: Mapping[str, Position]) -> tuple[Voice, ...]:
    found = (_voice(labels[one.who], one.quote) for one in said)
    return tuple(voice for voice in found if voice is not None)


def _voice(position: Position, quote: str) -> Voice | None:
    for message in (position.final, position.first):
        if exact := find_quote(quote, message.content):
            return Voice(participant=position.participant, quote=exact, message=message.id)
    return None


def _flip(one: Any, labels: Mapping[str, Position]) -> Flip | None:
    """Keep a change of mind that shows in the second answer."""
    position = labels[one.who]
    exact = find_quote(one.quote, position.final.content)
    if exact is None or position.first is position.final:
        return None
    because = labels[one.because_of].participant if one.because_of else None
    return Flip(
        participant=position.participant,
        before=one.before,
        after=one.after,
        because_of=None if because == position.participant else because,
        quote=exact,
        message=position.final.id,
    )


def find_quote(quote: str, text: str) -> str | None:
    """Find a quote in a text, whatever the white space between its words, and return it as it stands there."""
    for _ in range(2):  # at its beginning and, turned around, at its end
        quote = re.sub(AROUND, "", quote)[::-1]
    words = quote.split()
    if len(" ".join(words)) < min(SHORTEST_QUOTE, len(text.strip())):
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found.group() if found else None
