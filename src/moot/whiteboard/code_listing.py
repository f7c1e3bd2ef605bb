"""Code elements of a whiteboard: lists of lines with stable ids.

An edit never changes the id of another line, so models can refer to ids from earlier messages.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from moot.types.drawing import MAX_CODE_LINES, EditCode, split_code_lines


class CodeLine(Struct, frozen=True):
    id: str
    text: str


class CodeListing(Struct, frozen=True):
    """The lines of one code element."""

    lines: tuple[CodeLine, ...] = ()
    named: int = 0  # last id number; ids of deleted lines are not reused


def create_listing(code: str) -> CodeListing:
    texts = split_code_lines(code)
    return CodeListing(_number_lines(texts, 0), len(texts))


def edit_listing(listing: CodeListing, edit: EditCode) -> CodeListing:
    """Return the edited listing. Ignores unknown line ids and drops lines beyond `MAX_CODE_LINES`."""
    known = [line.id for line in listing.lines]
    targets = [target for target in edit.target_line_ids if target in known]
    if not targets:
        return listing
    if edit.operation == "insert_after":
        return _insert_lines(listing, at=known.index(targets[-1]) + 1, edit=edit)
    if edit.operation == "insert_before":
        return _insert_lines(listing, at=known.index(targets[0]), edit=edit)
    at = min(known.index(target) for target in targets)
    remaining = CodeListing(tuple(line for line in listing.lines if line.id not in targets), listing.named)
    if edit.operation == "delete_lines":
        return remaining
    kept = sorted(set(targets), key=known.index)
    return _insert_lines(remaining, at=at, edit=edit, line_ids=kept)


def find_edit_problem(listing: CodeListing, edit: EditCode) -> str | None:
    """Return an error message without its subject (the element id); None if the edit is valid."""
    known = {line.id for line in listing.lines}
    if missing := [target for target in edit.target_line_ids if target not in known]:
        existing = ", ".join(line.id for line in listing.lines) or "none"
        return f"has no line {', '.join(missing)}; it has {existing}."
    added = 0 if edit.operation == "delete_lines" else len(split_code_lines(edit.content))
    replaced = 0 if edit.operation.startswith("insert") else len(set(edit.target_line_ids))
    if len(listing.lines) + added - replaced > MAX_CODE_LINES:
        return f"would have more than {MAX_CODE_LINES} lines. Delete some first."
    return None


def _insert_lines(listing: CodeListing, *, at: int, edit: EditCode, line_ids: Sequence[str] = ()) -> CodeListing:
    """Insert at an index. New lines first take the ids in `line_ids`, then new ids."""
    texts = split_code_lines(edit.content)[: MAX_CODE_LINES - len(listing.lines)]
    same = tuple(CodeLine(id, text) for id, text in zip(line_ids, texts, strict=False))
    new = _number_lines(texts[len(same) :], listing.named)
    lines = (*listing.lines[:at], *same, *new, *listing.lines[at:])
    return CodeListing(lines, listing.named + len(new))


def _number_lines(texts: Iterable[str], last_number: int) -> tuple[CodeLine, ...]:
    return tuple(CodeLine(f"L{number}", text) for number, text in enumerate(texts, last_number + 1))
