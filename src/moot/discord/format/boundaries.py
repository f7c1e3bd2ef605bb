"""Finds where text may be split: ends of sentences, outside of marks and code spans."""

import re
from collections.abc import Callable

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


_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "“": "”",
    "‘": "’",
    "«": "»",
    "「": "」",
    "『": "』",
    "（": "）",
    "【": "】",
    "《": "》",
}
_PLAIN_CLOSING = frozenset(")]}")  # intervals mix them: [0, 1)
_CLOSERS = frozenset(_CLOSING.values())
_OPENS_QUOTE = re.compile(r"[\s(\[{*_—–:>“-]?")
_FACES = frozenset(":;='")  # before a bracket: the mouth of a face
_DEEPEST = 32
LONGEST_TAG = 100  # characters in which half a tag must close

CHARACTERS = "".join({*_CLOSING, *_CLOSERS, '"', "<", ">"})


class Marks:
    """Follows the marks of a text; it is only shown those characters that can be one."""

    def __init__(self) -> None:
        self._awaited: list[str] = []
        self._tag_from: int | None = None

    def open_at(self, place: int) -> bool:
        return bool(self._awaited) or self.in_tag(place)

    def in_tag(self, place: int) -> bool:
        return self._tag_from is not None and place - self._tag_from <= LONGEST_TAG

    def see(self, char: str, before: str, place: int) -> None:
        """Take in a mark at this place of the text, and the character before it."""
        if char == "<":
            self._tag_from = place
        elif char == ">":
            self._tag_from = None
        elif char == '"':
            self._quote(before)
        elif char in _CLOSING:
            if before not in _FACES and len(self._awaited) < _DEEPEST:
                self._awaited.append(_CLOSING[char])
        elif char in self._awaited:
            self._close(char)
        elif char in _PLAIN_CLOSING and self._awaited and self._awaited[-1] in _PLAIN_CLOSING:
            self._awaited.pop()

    def no_tag(self) -> None:
        """What looked like the beginning of a tag was none."""
        self._tag_from = None

    def _quote(self, before: str) -> None:
        if '"' in self._awaited:
            self._close('"')
        elif _OPENS_QUOTE.fullmatch(before):
            self._awaited.append('"')

    def _close(self, char: str) -> None:
        while self._awaited.pop() != char:
            pass


_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)")


def outside(edit: Callable[[str], str], text: str, inside: Callable[[str], str] = str) -> str:
    """Apply an edit to all of a text but its spans of code."""
    if "`" not in text:
        return edit(text)
    edited, place = [], 0
    for span in _SPAN.finditer(text):
        edited += [edit(text[place : span.start()]), inside(span[0])]
        place = span.end()
    return "".join([*edited, edit(text[place:])])
