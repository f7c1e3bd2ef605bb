"""Sentence boundary detection: where text may be split, outside of brackets, quotes and code spans."""

import re
from collections.abc import Callable

MAX_SEARCH_BACK_CHARS = 300  # how far before the limit to search for the end of a sentence
SENTENCE_CLOSERS = "\"'”’»)]}*_」』）】"
_SENTENCE_END = re.compile(
    rf"(?<![.!?])(?:[.!?]++|(?P<wide>[。！？]+))[{re.escape(SENTENCE_CLOSERS)}]*+(?(wide)|(?=\s))"
)
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘*_]*$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ABBREVIATION = re.compile(
    r"adm|al|approx|apr|aug|av|ave|bzgl|bzw|ca|capt|cf|co|col|corp|dec|dept|dr|e\.g|ed|eds|eq|esp|"
    r"est|etc|excl|fa|feb|fig|figs|gen|gov|hon|i\.e|inc|incl|jan|jr|jul|jun|lt|ltd|mar|max|messrs|"
    r"min|misc|mr|mrs|ms|mt|nov|nr|oct|op|pl|pp|prof|pt|rep|resp|rev|sec|sen|sep|sept|sgt|sr|st|"
    r"tel|u\.a|usw|viz|vol|vs|z\.b",
    re.IGNORECASE,
)
_HALF_TOKEN = re.compile(r"<[^<>\s]{0,60}$")  # an incomplete Discord mention; do not split it


def ends_sentence(text: str) -> bool:
    """Return True if the text ends with a sentence, given that white space follows it."""
    before = text.rstrip(".!?")
    stops = text[len(before) :]
    if stops != ".":
        return stops.strip(".") != ""  # several dots are an ellipsis
    word = _LAST_WORD.search(before, max(0, len(before) - 40))
    last = word[0] if word else ""
    if last.isdigit():
        return before[: -len(last)].rpartition("\n")[2].strip() != ""  # "1." at a line start is a list item
    if not last or _ABBREVIATION.fullmatch(last):
        return False
    return last == "I" or _INITIALS.fullmatch(last) is None


def find_split(text: str, limit: int, ahead: int = 0) -> int:
    """Return the index at which to split text that is longer than `limit`.

    Prefers the end of a sentence up to `ahead` characters after the limit, or up to 300 before it.
    Falls back to white space, then to the limit.
    """
    early = 0
    for end in _SENTENCE_END.finditer(text, max(0, limit - MAX_SEARCH_BACK_CHARS), limit + ahead + 1):
        if end.end() > limit + ahead:
            break
        if end["wide"] or ends_sentence(text[: end.start() + len(end[0].rstrip(SENTENCE_CLOSERS))]):
            if end.end() > limit:
                return end.end()
            early = end.end()
    return early or _split_at_space(text, limit)


def _split_at_space(text: str, limit: int) -> int:
    if text[limit - 1].isspace() or text[limit].isspace():
        return limit
    words = text[:limit].rsplit(None, 1)
    if len(words) == 2:
        return limit - len(words[1])
    half = _HALF_TOKEN.search(text[:limit])
    return half.start() if half and half.start() else limit


_BRACKET_PAIRS = dict(zip("([{“‘«「『（【《", ")]}”’»」』）】》", strict=True))
_ASCII_CLOSING_BRACKETS = frozenset(")]}")  # may close each other, as in the interval [0, 1)
_CLOSING_BRACKETS = frozenset(_BRACKET_PAIRS.values())
_BEFORE_OPENING_QUOTE = re.compile(r"[\s(\[{*_—–:>“-]?")
_EMOTICON_EYES = frozenset(":;='")  # a bracket after one of these is an emoticon
_MAX_DEPTH = 32
MAX_TAG_CHARS = 100  # a tag that is longer is not a tag

MARK_CHARACTERS = "".join({*_BRACKET_PAIRS, *_CLOSING_BRACKETS, '"', "<", ">"})


class MarkTracker:
    """Tracks open brackets, quotes and tags. The caller passes only characters of `MARK_CHARACTERS`."""

    def __init__(self) -> None:
        self._expected_closers: list[str] = []
        self._tag_start: int | None = None

    def is_open_at(self, position: int) -> bool:
        is_in_tag = self._tag_start is not None and position - self._tag_start <= MAX_TAG_CHARS
        return is_in_tag or bool(self._expected_closers)

    def track_mark(self, char: str, before: str, position: int) -> None:
        """Process one mark. `before` is the previous character, `position` the index in the text."""
        if char == "<":
            self._tag_start = position
        elif char == ">":
            self._tag_start = None
        elif char == '"':
            self._track_quote(before)
        elif char in _BRACKET_PAIRS:
            if before not in _EMOTICON_EYES and len(self._expected_closers) < _MAX_DEPTH:
                self._expected_closers.append(_BRACKET_PAIRS[char])
        elif char in self._expected_closers:
            self._close_mark(char)
        elif (
            char in _ASCII_CLOSING_BRACKETS
            and self._expected_closers
            and self._expected_closers[-1] in _ASCII_CLOSING_BRACKETS
        ):
            self._expected_closers.pop()

    def discard_tag(self) -> None:
        self._tag_start = None

    def _track_quote(self, before: str) -> None:
        if '"' in self._expected_closers:
            self._close_mark('"')
        elif _BEFORE_OPENING_QUOTE.fullmatch(before):
            self._expected_closers.append('"')

    def _close_mark(self, char: str) -> None:
        while self._expected_closers.pop() != char:
            pass


_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?[^`\n]\1(?!`)")


def edit_outside_code(edit: Callable[[str], str], text: str, edit_code: Callable[[str], str] = str) -> str:
    """Apply `edit` to the text outside code spans, and `edit_code` to the code spans."""
    if "`" not in text:
        return edit(text)
    edited, position = [], 0
    for span in _CODE_SPAN.finditer(text):
        edited += [edit(text[position : span.start()]), edit_code(span[0])]
        position = span.end()
    return "".join([*edited, edit(text[position:])])
