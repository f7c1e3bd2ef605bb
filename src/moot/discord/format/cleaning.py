"""Text cleanup before posting: speaker labels, echoed prefill, stray tags, casual style."""

import re
from collections.abc import Collection

from moot.discord.format.boundaries import edit_outside_code
from moot.discord.format.mentions import ChannelMembers, MentionResolver
from moot.discord.format.pieces import CodeBlock, MarkdownPiece, Prose
from moot.streaming.speaker_labels import SpeakerLabels

_VERBATIM = re.compile(r"(?:\w{2,12}://|www\.)\S*[^\s.,;:!?)]|<[^<>\s]{1,80}>|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]{1,64}")
_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w)?")
_COMMA = re.compile(r"[,;](?=\s|\Z)")
_TIGHT_COMMA = re.compile(r"(?<=[^\W\d_])[,;](?=[^\W\d_])|[\uff0c\uff1b]")


class Humanizer:
    """Rewrites text in a casual style: lower case, fewer commas. Keeps acronyms, code, URLs and `names`."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(word for name in names for word in _WORD.findall(name))

    def humanize(self, text: str) -> str:
        return edit_outside_code(self._humanize_prose, text)

    def _humanize_prose(self, text: str) -> str:
        parts, position = [], 0
        for verbatim in _VERBATIM.finditer(text):
            parts += [self._relax_punctuation(text[position : verbatim.start()]), verbatim[0]]
            position = verbatim.end()
        return "".join([*parts, self._relax_punctuation(text[position:])])

    def _relax_punctuation(self, text: str) -> str:
        return _WORD.sub(self._lowercase_word, _TIGHT_COMMA.sub(" ", _COMMA.sub("", text)))

    def _lowercase_word(self, word_match: re.Match[str]) -> str:
        word = word_match[0]
        kept = word in self._names or word[1:] != word[1:].lower()
        return word if kept else word.lower()


class PrefillStripper:
    """Removes the echoed prefill from the start of an answer, also if it spans several pieces."""

    def __init__(self, text: str) -> None:
        self._expected = text.strip()
        self._withheld = ""  # matched so far; released if the rest does not match

    def strip_echo(self, text: str) -> str:
        stripped = text.strip()
        if not self._expected or not stripped:
            return text
        if stripped.startswith(self._expected):
            echo = len(text) - len(text.lstrip()) + len(self._expected)
            self._expected = self._withheld = ""
            return text[echo:]
        if self._expected.startswith(stripped):
            self._withheld += text
            self._expected = self._expected[len(stripped) :].lstrip()
            return ""
        return self.release_withheld() + text

    def release_withheld(self) -> str:
        """Return the text of a partial match and stop matching."""
        withheld, self._withheld, self._expected = self._withheld, "", ""
        return withheld


MAX_HELD_CHARS = 1000  # limit for buffered punctuation
_WORD_OR_EMOJI = re.compile("[^\\W_]|[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
# Emoji, without the stars, circles and squares that scores and bars repeat.
_PICTOGRAPH = "[\U0001f000-\U0001f1e5\U0001f200-\U0001f7df\U0001f7ec-\U0001faff]"
_EMOJI_SIGN = (
    "[\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa"
    "\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b50\u2b55]"
)
_EMOJI_BASE = f"(?:{_PICTOGRAPH}|{_EMOJI_SIGN}|[\u2600-\u27bf\u2b00-\u2bff](?=\ufe0f))[\ufe0f\U0001f3fb-\U0001f3ff]?"
_EMOJI = f"{_EMOJI_BASE}(?:\u200d{_EMOJI_BASE})*|[\U0001f1e6-\U0001f1ff]{{2}}|<a?:\\w{{2,32}}:\\d{{1,20}}>"
_REPEATED_EMOJI = re.compile(rf"({_EMOJI})(?:[ \t]{{0,3}}\1)+")
_SYSTEM_TAG = re.compile(r"\[\s?system(?: [a-z]{1,20})?\s?:[^\[\]]*\]", re.IGNORECASE)
_STRAY_TAG = re.compile(
    r"</?(?:think|thinking|thought|reasoning|details|summary|system|assistant|user|human|message|response|answer|output|s)"
    r"(?:[ \t][^<>\n]{0,40})?/?>|<\|[^<>|\n]{0,40}\|>",
    re.IGNORECASE,
)
_NEWLINES = re.compile(r"\n(?:[ \t]*\n){2,}")


class PieceCleaner:
    """Cleans the pieces of one answer, in order. Buffers text without words until the next piece."""

    def __init__(self, channel_members: ChannelMembers, *, prefill: str, block_impersonation: bool) -> None:
        self._own_labels = SpeakerLabels([channel_members.participant])
        self._other_labels = SpeakerLabels(
            [name for name in channel_members.other_participants if name.lower() != channel_members.participant.lower()]
        )
        self._mentions = MentionResolver(channel_members.members)
        self._prefill = PrefillStripper(self._mentions.resolve_mentions(prefill))
        self._block_impersonation = block_impersonation
        self._held_punctuation = ""  # buffered until a piece with words, so that no message has only punctuation
        self._has_started = False
        self._trailing_newlines = ""  # of the last piece
        self._is_cut_off = False

    def clean_piece(self, piece: MarkdownPiece) -> list[MarkdownPiece]:
        if self._is_cut_off:
            return []
        if isinstance(piece, CodeBlock):
            return self._clean_code_block(piece)
        text, self._held_punctuation = self._held_punctuation + piece.text, ""
        if len(text) < MAX_HELD_CHARS and not _WORD_OR_EMOJI.search(piece.text):
            self._held_punctuation = text
            return []
        cleaned = self._collapse_blank_lines(edit_outside_code(_strip_stray_tags, self._strip_labels(text)))
        visible = self._stop_at_impersonation(self._prefill.strip_echo(self._mentions.resolve_mentions(cleaned)))
        if not visible.strip():
            return []
        self._trailing_newlines = visible[len(visible.rstrip("\n")) :]
        return [type(piece)(visible)]

    def flush_held(self) -> list[MarkdownPiece]:
        """Return the buffered text at the end of the stream or before a tool call."""
        text = self._prefill.release_withheld() + self._pop_held()
        self._trailing_newlines = "\n"  # the next piece starts a line
        return [Prose(text)] if text.strip() else []

    def _clean_code_block(self, code: CodeBlock) -> list[MarkdownPiece]:
        self._has_started = True
        self._trailing_newlines = ""
        echo = self._prefill.release_withheld()
        whole = CodeBlock(code.language, code.text, leading_text=self._pop_held().strip())
        return [Prose(echo), whole] if echo else [whole]

    def _pop_held(self) -> str:
        held, self._held_punctuation = self._held_punctuation, ""
        return self._mentions.resolve_mentions(held)

    def _strip_labels(self, text: str) -> str:
        text = self._own_labels.strip_label(text)
        if not self._has_started and text.strip():
            self._has_started = True
            text = self._other_labels.strip_label(text)
        return text

    def _collapse_blank_lines(self, text: str) -> str:
        """Keep at most one blank line, also across the boundary to the previous piece."""
        return _NEWLINES.sub("\n\n", self._trailing_newlines + text).removeprefix(self._trailing_newlines)

    def _stop_at_impersonation(self, text: str) -> str:
        """Cut the answer off at the label of another participant. Later pieces are dropped."""
        if not self._block_impersonation:
            return text
        line_start = self._trailing_newlines[:1]
        before = self._other_labels.text_before_later_label(line_start + text)
        if before is None:
            return text
        self._is_cut_off = True
        return before.removeprefix(line_start)


def _strip_stray_tags(text: str) -> str:
    return _STRAY_TAG.sub("", _SYSTEM_TAG.sub("", _REPEATED_EMOJI.sub(r"\1", text)))
