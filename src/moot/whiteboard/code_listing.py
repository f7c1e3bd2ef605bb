"""Code on the board: lines that keep their names whatever comes or goes around them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from moot.types.drawing import MOST_LINES, EditCode, lines_of


class Line(Struct, frozen=True):
    id: str
    text: str


class Listing(Struct, frozen=True):
    """The lines of one element; `named` counts all names ever given, so that none is given twice."""

    lines: tuple[Line, ...] = ()
    named: int = 0


def listed(code: str) -> Listing:
    texts = lines_of(code)
    return Listing(_named(texts, 0), len(texts))


def edited(listing: Listing, edit: EditCode) -> Listing:
    """Change lines by their names. What names no line changes nothing, and no more lines come in than there is room."""
    known = [line.id for line in listing.lines]
    targets = [target for target in edit.targets if target in known]
    if not targets:
        return listing
    if edit.operation == "insert_after":
        return _with(listing, at=known.index(targets[-1]) + 1, edit=edit)
    if edit.operation == "insert_before":
        return _with(listing, at=known.index(targets[0]), edit=edit)
    at = min(known.index(target) for target in targets)
    left = Listing(tuple(line for line in listing.lines if line.id not in targets), listing.named)
    if edit.operation == "delete_lines":
        return left
    kept = sorted(set(targets), key=known.index)
    return _with(left, at=at, edit=edit, names=kept)


def objection(listing: Listing, edit: EditCode) -> str | None:
    """Say what is wrong with an edit of these lines, if anything is."""
    known = {line.id for line in listing.lines}
    if gone := [target for target in edit.targets if target not in known]:
        there = ", ".join(line.id for line in listing.lines) or "none"
        return f"has no line {', '.join(gone)}; it has {there}."
    added = 0 if edit.operation == "delete_lines" else len(lines_of(edit.content))
    replaced = 0 if edit.operation.startswith("insert") else len(set(edit.targets))
    if len(listing.lines) + added - replaced > MOST_LINES:
        return f"would have more than {MOST_LINES} lines. Delete some first."
    return None


def _with(listing: Listing, *, at: int, edit: EditCode, names: Sequence[str] = ()) -> Listing:
    """Put lines in; those that replace others have their `names`, as long as these last."""
    texts = lines_of(edit.content)[: MOST_LINES - len(listing.lines)]
    same = tuple(Line(id, text) for id, text in zip(names, texts, strict=False))
    new = _named(texts[len(same) :], listing.named)
    lines = (*listing.lines[:at], *same, *new, *listing.lines[at:])
    return Listing(lines, listing.named + len(new))


def _named(texts: Iterable[str], after: int) -> tuple[Line, ...]:
    return tuple(Line(f"L{number}", text) for number, text in enumerate(texts, after + 1))
