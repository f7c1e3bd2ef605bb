"""Code on the board: lines that keep their names whatever comes or goes around them."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from moot.types.drawing import MAX_CODE_LINES, EditCode, split_code_lines


class CodeLine(Struct, frozen=True):
    id: str
    text: str


class CodeListing(Struct, frozen=True):
    """The lines of one element; `named` counts all names ever given, so that none is given twice."""

    lines: tuple[CodeLine, ...] = ()
    named: int = 0


def create_listing(code: str) -> CodeListing:
    texts = split_code_lines(code)
    return CodeListing(_number_lines(texts, 0), len(texts))


def edit_listing(listing: CodeListing, edit: EditCode) -> CodeListing:
    """Change lines by their names. What names no line changes nothing, and no more lines come in than there is room."""
    known = [line.id for line in listing.lines]
    targets = [target for target in edit.target_line_ids if target in known]
    if not targets:
        return listing
    if edit.operation == "insert_after":
        return _insert_lines(listing, at=known.index(targets[-1]) + 1, edit=edit)
    if edit.operation == "insert_before":
        return _insert_lines(listing, at=known.index(targets[0]), edit=edit)
    at = min(known.index(target) for target in targets)
    left = CodeListing(tuple(line for line in listing.lines if line.id not in targets), listing.named)
    if edit.operation == "delete_lines":
        return left
    kept = sorted(set(targets), key=known.index)
    return _insert_lines(left, at=at, edit=edit, line_ids=kept)


def find_edit_problem(listing: CodeListing, edit: EditCode) -> str | None:
    """Say what is wrong with an edit of these lines, if anything is."""
    known = {line.id for line in listing.lines}
    if gone := [target for target in edit.target_line_ids if target not in known]:
        there = ", ".join(line.id for line in listing.lines) or "none"
        return f"has no line {', '.join(gone)}; it has {there}."
    added = 0 if edit.operation == "delete_lines" else len(split_code_lines(edit.content))
    replaced = 0 if edit.operation.startswith("insert") else len(set(edit.target_line_ids))
    if len(listing.lines) + added - replaced > MAX_CODE_LINES:
        return f"would have more than {MAX_CODE_LINES} lines. Delete some first."
    return None


def _insert_lines(
    listing: CodeListing, *, at: int, edit: EditCode, line_ids: Sequence[str] = ()
) -> CodeListing:
    """Put lines in; those that replace others have their `names`, as long as these last."""
    texts = split_code_lines(edit.content)[: MAX_CODE_LINES - len(listing.lines)]
    same = tuple(CodeLine(id, text) for id, text in zip(line_ids, texts, strict=False))
    new = _number_lines(texts[len(same) :], listing.named)
    lines = (*listing.lines[:at], *same, *new, *listing.lines[at:])
    return CodeListing(lines, listing.named + len(new))


def _number_lines(texts: Iterable[str], last_number: int) -> tuple[CodeLine, ...]:
    return tuple(CodeLine(f"L{number}", text) for number, text in enumerate(texts, last_number + 1))
