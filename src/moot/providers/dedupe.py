"""Removal of text that a provider streams twice.

Text that the model itself repeats must stay, so short or uniform matches are kept.
"""

MIN_OVERLAP_CHARS = 8  # shorter overlaps occur in normal text
MAX_TAIL_CHARS = 4096
MIN_DISTINCT_CHARS = 4  # fewer may be a coincidence: indentation, horizontal rules, "ha ha"
BYTES_PER_TOKEN = 5  # with at most this many bytes per new token, the whole piece is new


class SnapshotDeduper:
    """For servers that send the whole text so far in each event, instead of a delta."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._text_length = 0
        self._is_snapshot_stream = True  # every piece so far began with the text before it

    def new_text(self, piece: str) -> str:
        # The final event of some servers repeats the whole text.
        is_repeat = len(piece) == self._text_length and len(self._pieces) > 1
        if self._text_length >= MIN_OVERLAP_CHARS and (
            is_repeat or (self._is_snapshot_stream and len(piece) > self._text_length)
        ):
            so_far = "".join(self._pieces)
            if piece.startswith(so_far) and len(set(so_far)) >= MIN_DISTINCT_CHARS:
                piece = piece[len(so_far) :]
            else:
                self._is_snapshot_stream = False
        elif self._text_length >= MIN_OVERLAP_CHARS:
            self._is_snapshot_stream = False
        self._pieces.append(piece)
        self._text_length += len(piece)
        return piece


class OverlapDeduper:
    """For a provider that repeats the end of its text at the start of the next piece.

    If the provider sends running token counts, they decide: when enough new tokens were counted for the length of
    the piece, the model generated the repeat itself.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail = ""
        self._token_count: int | None = None

    def new_text(self, piece: str, tokens: int | None) -> str:
        """Return the new part of `piece`. `tokens` is the running count of output tokens; None if unknown."""
        grown = tokens - self._token_count if tokens is not None and self._token_count is not None else None
        self._token_count = tokens if tokens is not None else self._token_count
        is_new = grown is not None and grown * BYTES_PER_TOKEN >= len(piece.encode())
        if len(piece) >= MIN_OVERLAP_CHARS and not is_new:
            piece = piece[self._overlap_length(piece) :]
        self._pieces.append(piece)
        self._tail = (self._tail + piece)[-MAX_TAIL_CHARS:]
        return piece

    def _overlap_length(self, piece: str) -> int:
        """Return the length of the longest suffix of the text so far that is a prefix of `piece`."""
        if len(piece) > MAX_TAIL_CHARS and piece.startswith(whole := "".join(self._pieces)):
            return len(whole)
        prefix = piece[:MIN_OVERLAP_CHARS]
        at = self._tail.find(prefix)
        while at >= 0:
            suffix = self._tail[at:]
            if piece.startswith(suffix):
                return len(suffix) if len(set(suffix) - set(" \t\n")) >= MIN_DISTINCT_CHARS else 0
            at = self._tail.find(prefix, at + 1)
        return 0
