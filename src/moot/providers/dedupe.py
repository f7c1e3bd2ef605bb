"""Text that a provider sends twice, taken out without touching what a model truly says twice."""

SMALLEST = 8  # shorter coincidences are ordinary language
MEMORY = 4096
VARIED = 4  # distinct characters that make a coincidence unlikely: rules out indentation, rules and "ha ha"
BYTES_A_TOKEN = 5  # more new tokens than this explains: the whole piece is new


class Snapshots:
    """For servers that send the whole text so far in each piece instead of what is new."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._growing = True  # whether every piece so far began with all the text before it

    def new_text(self, piece: str) -> str:
        again = len(piece) == self._length and len(self._pieces) > 1
        if self._length >= SMALLEST and (again or (self._growing and len(piece) > self._length)):
            so_far = "".join(self._pieces)
            if piece.startswith(so_far) and len(set(so_far)) >= VARIED:
                piece = piece[len(so_far) :]
            else:
                self._growing = False
        elif self._length >= SMALLEST:
            self._growing = False
        self._pieces.append(piece)
        self._length += len(piece)
        return piece


class Overlaps:
    """For a provider that repeats its last text, whole or in part, at the start of the next piece.

    Where the provider counts its tokens as it goes, the count decides: a piece whose length the newly counted
    tokens explain was said twice by the model.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._tail = ""
        self._tokens: int | None = None

    def new_text(self, piece: str, tokens: int | None) -> str:
        """Return what is new in `piece`; `tokens` is the provider's running count of answer tokens."""
        grown = tokens - self._tokens if tokens is not None and self._tokens is not None else None
        self._tokens = tokens if tokens is not None else self._tokens
        truly_said = grown is not None and grown * BYTES_A_TOKEN >= len(piece.encode())
        if len(piece) >= SMALLEST and not truly_said:
            piece = piece[self._overlap(piece) :]
        self._pieces.append(piece)
        self._tail = (self._tail + piece)[-MEMORY:]
        return piece

    def _overlap(self, piece: str) -> int:
        """Length of the longest end of the text so far that is also the beginning of `piece`."""
        if len(piece) > MEMORY and piece.startswith(whole := "".join(self._pieces)):
            return len(whole)
        begin = piece[:SMALLEST]
        at = self._tail.find(begin)
        while at >= 0:
            end = self._tail[at:]
            if piece.startswith(end):
                return len(end) if len(set(end) - set(" \t\n")) >= VARIED else 0
            at = self._tail.find(begin, at + 1)
        return 0
