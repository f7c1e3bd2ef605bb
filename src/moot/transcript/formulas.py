"""Formulas in Markdown: found between the signs that models write around them, and drawn where they can be read."""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from moot.transcript.html import Work, element, words
from moot.whiteboard.render.elements import number, tag
from moot.whiteboard.render.latex import SIZE, Unreadable, formula

PAIRS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
APART = frozenset({"$$", "\\["})  # on lines of their own
LONGEST = 2000  # characters
MOST_LINES = 60
SECONDS = 3.0  # of work for all formulas of a transcript


class Formulas:
    """Draws formulas until it has worked long enough; after that they are shown as they are written."""

    def __init__(self, work: Work | None = None) -> None:
        self._work = work or Work(SECONDS)

    def drawn(self, latex: str, *, apart: bool) -> str:
        """Draw a formula as tall as the text around it."""
        if self._work.is_over:
            return _code(latex, apart=apart)
        try:
            with self._work.going_on():
                laid = formula(latex)
        except Unreadable:
            return _code(latex, apart=apart)
        if laid.width <= 0 or laid.height <= 0:
            return _code(latex, apart=apart)
        svg = tag(
            "svg",
            laid.paths,
            class_="apart" if apart else "formula",
            viewBox=" ".join(map(number, (laid.x, laid.y, laid.width, laid.height))),
            width=f"{laid.width / SIZE:.3f}em",
            height=f"{laid.height / SIZE:.3f}em",
            fill="currentColor",
            role="img",
            aria_label=latex,
            style=None if apart else f"vertical-align:{-(laid.y + laid.height) / SIZE:.3f}em",
        )
        return element("p", svg, class_="formula") if apart else svg


def find_formulas(markdown: MarkdownIt) -> None:
    """Let Markdown tell formulas from other text: tokens `formula`, and `formula_apart` on lines of their own."""
    markdown.inline.ruler.before("escape", "formula", _inline)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", "formula_apart", _apart, {"alt": interrupted})


def _code(latex: str, *, apart: bool) -> str:
    code = element("code", words(latex))
    return element("pre", code) if apart else code


def _inline(state: StateInline, silent: bool) -> bool:
    pair = next((pair for pair in PAIRS if state.src.startswith(pair[0], state.pos)), None)
    if pair is None:
        return False
    opening, closing = pair
    start = state.pos + len(opening)
    end = _closing(state.src, closing, start, min(state.posMax, start + LONGEST))
    if end is None or (opening == "$" and not _is_formula(state.src, start, end)):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = state.src[start:end].strip()
    state.pos = end + len(closing)
    return True


def _closing(source: str, sign: str, start: int, stop: int) -> int | None:
    """Find where a formula that has begun ends: not at once, and not at an escaped dollar."""
    end = source.find(sign, start, stop)
    while end > 0 and sign == "$" and source[end - 1] == "\\":
        end = source.find(sign, end + 1, stop)
    return end if end > start and source[start:end].strip() else None


def _is_formula(source: str, start: int, end: int) -> bool:
    """Tell a formula from two amounts of money."""
    inner = source[start:end]
    after = source[end + 1 : end + 2]
    return not (inner[0].isspace() or inner[-1].isspace() or after.isdigit())


def _apart(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    pair = next((one for one in PAIRS if one[0] in APART and _line(state, start).startswith(one[0])), None)
    if pair is None or (found := _until(state, start, end, *pair)) is None:
        return False
    latex, last = found
    if not silent:
        token = state.push("formula_apart", "", 0)
        token.content, token.map = latex, [start, last + 1]
        state.line = last + 1
    return True


def _until(state: StateBlock, start: int, end: int, opening: str, closing: str) -> tuple[str, int] | None:
    """Read from an opening to a line that ends with the closing; anything after that makes it no formula apart."""
    lines: list[str] = []
    for at in range(start, min(end, start + MOST_LINES)):
        line = _line(state, at).removeprefix(opening) if at == start else _line(state, at)
        before, found, after = line.rstrip().partition(closing)
        lines.append(before)
        if found:
            latex = "\n".join(lines).strip()
            return (latex, at) if not after and latex and len(latex) <= LONGEST else None
    return None


def _line(state: StateBlock, at: int) -> str:
    return state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]]
