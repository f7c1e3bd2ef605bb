"""Text that a provider sends twice, taken out without touching what a model truly says twice."""

MIN_OVERLAP_CHARS = 8  # shorter coincidences are ordinary language
MAX_TAIL_CHARS = 4096
MIN_DISTINCT_CHARS = (
    4  # distinct characters that make a coincidence unlikely: rules out indentation, rules and "ha ha"
)
BYTES_PER_TOKEN = 5  # more new tokens than this explains: the whole piece is new


class SnapshotDeduper:
    """For servers that send the whole text so far in each piece instead of what is new."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._text_length = 0
        self._is_snapshot_stream = True  # whether every piece so far began with all the text before it

    def new_text(self, piece: str) -> str:
        again = len(piece) == self._text_length and len(self._pieces) > 1
        if self._text_length >= MIN_OVERLAP_CHARS and (
            again or (self._is_snapshot_stream and len(piece) > self._text_length)
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
    """For a provider that repeats its last text, whole or in part, at the start of the next piece.

    Where the provider counts its tokens as it goes, the count decides: a piece whose length the newly counted
    tokens explain was said twice by the model.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail = ""
        self._token_count: int | None = None

    def new_text(self, piece: str, tokens: int | None) -> str:
        """Return what is new in `piece`; `tokens` is the provider's running count of answer tokens."""
        grown = tokens - self._token_count if tokens is not None and self._token_count is not None else None
        self._token_count = tokens if tokens is not None else self._token_count
        truly_said = grown is not None and grown * BYTES_PER_TOKEN >= len(piece.encode())
        if len(piece) >= MIN_OVERLAP_CHARS and not truly_said:
            piece = piece[self._overlap_length(piece) :]
        self._pieces.append(piece)
        self._tail = (self._tail + piece)[-MAX_TAIL_CHARS:]
        return piece

    def _overlap_length(self, piece: str) -> int:
        """Length of the longest end of the text so far that is also the beginning of `piece`."""
        if len(piece) > MAX_TAIL_CHARS and piece.startswith(whole := "".join(self._pieces)):
            return len(whole)
        begin = piece[:MIN_OVERLAP_CHARS]
        at = self._tail.find(begin)
        while at >= 0:
            end = self._tail[at:]
            if piece.startswith(end):
                return len(end) if len(set(end) - set(" \t\n")) >= MIN_DISTINCT_CHARS else 0
            at = self._tail.find(begin, at + 1)
        return 0
