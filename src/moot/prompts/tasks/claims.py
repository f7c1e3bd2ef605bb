"""Claims task of a debate: who claims what, and who changed position.

The model returns quotes. A quote counts only if it occurs in the message of that participant.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, defstruct

from moot.prompts.debate import Position, debate_material, label_positions
from moot.prompts.tasks.task import AnalysisTask, make_cache_key, task_request
from moot.types.debate import Claim, ClaimQuote, DebateClaims, PositionChange
from moot.types.discussions import Message
from moot.types.events import ClaimsExtracted

MIN_QUOTE_CHARACTERS = 12  # shorter strings occur in any answer
QUOTE_PADDING = r"(?:[\s\"'“”„»«\u2018\u2019…]|\.\.\.)+"  # models add these before and after a quote


def claims_task(messages: Sequence[Message], run: str, max_chars: int) -> AnalysisTask:
    labels = label_positions(messages, run)
    shown = debate_material(messages, run, {label: [one.first, one.final] for label, one in labels.items()}, max_chars)
    cache_key = make_cache_key("ledger", shown)
    return AnalysisTask(
        cache_key=cache_key,
        request=task_request("claims", shown),
        answer_type=_claims_answer_type(tuple(labels)),
        to_result=lambda answer: ClaimsExtracted(cache_key=cache_key, claims=_verify_claims(answer, labels)),
        check=lambda answer: None if answer.claims else "`claims` is empty: name at least one.",
    )


def _claims_answer_type(labels: tuple[str, ...]) -> type[Struct]:
    """Build the answer type at run time, so that the schema allows only these labels."""
    who: Any = Literal.__getitem__(labels)
    voices: Any = list[defstruct("Said", [("who", who), ("quote", str)])]  # type: ignore[misc]
    sides = [("claim", str), ("supporters", voices), ("opponents", voices)]
    change = [("who", who), ("before", str), ("after", str), ("because_of", who | None), ("quote", str)]
    claims: Any = list[defstruct("AskedClaim", sides)]  # type: ignore[misc]
    changes: Any = list[defstruct("AskedChange", change)]  # type: ignore[misc]
    return defstruct("ExtractedClaims", [("claims", claims), ("position_changes", changes)])


def _verify_claims(answer: Any, labels: Mapping[str, Position]) -> DebateClaims:
    """Drop each quote and position change that the messages do not prove, and count the dropped ones."""
    quotes = [quote for one in answer.claims for quote in (*one.supporters, *one.opponents)]
    claims = [_verify_claim(one, labels) for one in answer.claims]
    changes = [change for one in answer.position_changes if (change := _verify_position_change(one, labels))]
    proven = sum(len(one.supporters) + len(one.opponents) for one in claims)
    return DebateClaims(
        claims=tuple(one for one in claims if one.supporters or one.opponents),
        position_changes=tuple(changes),
        dropped_quotes=len(quotes) - proven + len(answer.position_changes) - len(changes),
    )


def _verify_claim(one: Any, labels: Mapping[str, Position]) -> Claim:
    supporters, opponents = _verify_quotes(one.supporters, labels), _verify_quotes(one.opponents, labels)
    few = len({voice.participant for voice in supporters}) * 2 < len(labels)
    return Claim(claim=one.claim, supporters=supporters, opponents=opponents, minority=bool(supporters) and few)


def _verify_quotes(quotes: Sequence[Any], labels: Mapping[str, Position]) -> tuple[ClaimQuote, ...]:
    found = (_verify_quote(labels[one.who], one.quote) for one in quotes)
    return tuple(voice for voice in found if voice is not None)


def _verify_quote(position: Position, quote: str) -> ClaimQuote | None:
    for message in (position.final, position.first):
        if exact := find_quote(quote, message.content):
            return ClaimQuote(participant=position.participant, quote=exact, message=message.id)
    return None


def _verify_position_change(one: Any, labels: Mapping[str, Position]) -> PositionChange | None:
    """Return None unless the quote is in the final answer, and there is a second answer."""
    position = labels[one.who]
    exact = find_quote(one.quote, position.final.content)
    if exact is None or position.first is position.final:
        return None
    because = labels[one.because_of].participant if one.because_of else None
    return PositionChange(
        participant=position.participant,
        before=one.before,
        after=one.after,
        because_of=None if because == position.participant else because,
        quote=exact,
        message=position.final.id,
    )


def find_quote(quote: str, text: str) -> str | None:
    """Ignore differences in whitespace. Return the string as it is in the text, or None."""
    words = re.sub(rf"\A{QUOTE_PADDING}|{QUOTE_PADDING}\Z", "", quote).split()
    if len(" ".join(words)) < min(MIN_QUOTE_CHARACTERS, len(text.strip())):
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found.group() if found else None
