"""The ledger of a debate: who claims what, and who changed position; a quote counts only if it is in the answer it names."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, defstruct

from moot.prompts.debate import Position, labelled, material
from moot.prompts.tasks.task import Inquiry, basis, requested
from moot.types.debate import Claim, Flip, Ledger, Voice
from moot.types.discussions import Message
from moot.types.events import LedgerMade

SHORTEST_QUOTE = 12  # characters; fewer would be in any answer
AROUND = r"(?:[\s\"'“”„»«\u2018\u2019…]|\.\.\.)+"  # what models put before a quote, and after it


def ledger(said: Sequence[Message], run: str, room: int) -> Inquiry:
    """Ask who claims what in which words, and who changed position after whose argument."""
    labels = labelled(said, run)
    shown = material(said, run, {label: [one.first, one.final] for label, one in labels.items()}, room)
    rests_on = basis("ledger", shown)
    return Inquiry(
        basis=rests_on,
        request=requested("keep_the_ledger", shown),
        answer=_ledger_form(tuple(labels)),
        found=lambda told: LedgerMade(basis=rests_on, ledger=_ledger(told, labels)),
        check=lambda told: None if told.claims else "`claims` is empty: name at least one.",
    )


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
    words = re.sub(rf"\A{AROUND}|{AROUND}\Z", "", quote).split()
    if len(" ".join(words)) < min(SHORTEST_QUOTE, len(text.strip())):
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found.group() if found else None
