"""Where running text may be cut: the ends of sentences, and the best place in text that has grown too long."""

import re

BACK = 300  # characters in which the end of a sentence is looked for, before the limit
CLOSERS = "\"'”’»)]}*_」』）】"
_END = re.compile(rf"(?<![.!?])(?:[.!?]++|(?P<wide>[。！？]+))[{re.escape(CLOSERS)}]*+(?(wide)|(?=\s))")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘*_]*$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ABBREVIATION = re.compile(
    r"adm|al|approx|apr|aug|av|ave|bzgl|bzw|ca|capt|cf|co|col|corp|dec|dept|dr|e\.g|ed|eds|eq|esp|"
    r"est|etc|excl|fa|feb|fig|figs|gen|gov|hon|i\.e|inc|incl|jan|jr|jul|jun|lt|ltd|mar|max|messrs|"
    r"min|misc|mr|mrs|ms|mt|nov|nr|oct|op|pl|pp|prof|pt|rep|resp|rev|sec|sen|sep|sept|sgt|sr|st|"
    r"tel|u\.a|usw|viz|vol|vs|z\.b",
    re.IGNORECASE,
)
_HALF_TOKEN = re.compile(r"<[^<>\s]{0,60}$")  # of a mention, which is one word to Discord


def ends_sentence(text: str) -> bool:
    """Tell whether the stops at the end of this text end a sentence, if white space follows."""
    before = text.rstrip(".!?")
    stops = text[len(before) :]
    if stops != ".":
        return stops.strip(".") != ""  # dots alone are an ellipsis
    word = _LAST_WORD.search(before, max(0, len(before) - 40))
    last = word[0] if word else ""
    if last.isdigit():
        return before[: -len(last)].rpartition("\n")[2].strip() != ""  # else it numbers an item of a list
    if not last or _ABBREVIATION.fullmatch(last):
        return False
    return last == "I" or _INITIALS.fullmatch(last) is None


def cut(text: str, limit: int, ahead: int = 0) -> int:
    """Return where to cut text that is longer than the limit.

    That is after a sentence, up to `ahead` characters late or 300 early; else at white space; else at the limit.
    """
    early = 0
    for end in _END.finditer(text, max(0, limit - BACK), limit + ahead + 1):
        if end.end() > limit + ahead:
            break
        if end["wide"] or ends_sentence(text[: end.start() + len(end[0].rstrip(CLOSERS))]):
            if end.end() > limit:
                return end.end()
            early = end.end()
    return early or _at_space(text, limit)


def _at_space(text: str, limit: int) -> int:
    if text[limit - 1].isspace() or text[limit].isspace():
        return limit
    words = text[:limit].rsplit(None, 1)
    if len(words) == 2:
        return limit - len(words[1])
    half = _HALF_TOKEN.search(text[:limit])
    return half.start() if half and half.start() else limit
