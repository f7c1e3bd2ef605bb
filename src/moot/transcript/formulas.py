"""Formulas in Markdown: found between the signs that models write around them, and drawn where they can be read."""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from moot.transcript.html import TimeBudget, escape_html, html_element
from moot.whiteboard.render.elements import format_number, svg_tag
from moot.whiteboard.render.latex import FORMULA_FONT_SIZE, InvalidFormula, layout_formula

DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
BLOCK_OPENERS = frozenset({"$$", "\\["})  # on lines of their own
MAX_FORMULA_CHARS = 2000  # characters
MAX_FORMULA_LINES = 60
FORMULA_BUDGET_SECONDS = 3.0  # of work for all formulas of a transcript


class FormulaRenderer:
    """Draws formulas until it has worked long enough; after that they are shown as they are written."""

    def __init__(self, time_budget: TimeBudget | None = None) -> None:
        self._time_budget = time_budget or TimeBudget(FORMULA_BUDGET_SECONDS)

    def render_formula(self, latex: str, *, is_block: bool) -> str:
        """Draw a formula as tall as the text around it."""
        if self._time_budget.is_spent:
            return _code_fallback(latex, is_block=is_block)
        try:
            with self._time_budget.track_time():
                laid = layout_formula(latex)
        except InvalidFormula:
            return _code_fallback(latex, is_block=is_block)
        if laid.width <= 0 or laid.height <= 0:
            return _code_fallback(latex, is_block=is_block)
        svg = svg_tag(
            "svg",
            laid.paths,
            class_="apart" if is_block else "formula",
            viewBox=" ".join(map(format_number, (laid.x, laid.y, laid.width, laid.height))),
            width=f"{laid.width / FORMULA_FONT_SIZE:.3f}em",
            height=f"{laid.height / FORMULA_FONT_SIZE:.3f}em",
            fill="currentColor",
            role="img",
            aria_label=latex,
            style=None if is_block else f"vertical-align:{-(laid.y + laid.height) / FORMULA_FONT_SIZE:.3f}em",
        )
        return html_element("p", svg, class_="formula") if is_block else svg


def add_formula_rules(markdown: MarkdownIt) -> None:
    """Let Markdown tell formulas from other text: tokens `formula`, and `formula_apart` on lines of their own."""
    markdown.inline.ruler.before("escape", "formula", _inline_rule)
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    markdown.block.ruler.before("fence", "formula_apart", _block_rule, {"alt": interrupted})


def _code_fallback(latex: str, *, is_block: bool) -> str:
    code = html_element("code", escape_html(latex))
    return html_element("pre", code) if is_block else code


def _inline_rule(state: StateInline, silent: bool) -> bool:
    pair = next((pair for pair in DELIMITERS if state.src.startswith(pair[0], state.pos)), None)
    if pair is None:
        return False
    opening, closing = pair
    start = state.pos + len(opening)
    end = _find_closing(state.src, closing, start, min(state.posMax, start + MAX_FORMULA_CHARS))
    if end is None or (opening == "$" and not _is_formula(state.src, start, end)):
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = state.src[start:end].strip()
    state.pos = end + len(closing)
    return True


def _find_closing(source: str, sign: str, start: int, stop: int) -> int | None:
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


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    pair = next(
        (
            one
            for one in DELIMITERS
            if one[0] in BLOCK_OPENERS and _line_text(state, start).startswith(one[0])
        ),
        None,
    )
    if pair is None or (found := _read_block(state, start, end, *pair)) is None:
        return False
    latex, last = found
    if not silent:
        token = state.push("formula_apart", "", 0)
        token.content, token.map = latex, [start, last + 1]
        state.line = last + 1
    return True


def _read_block(
    state: StateBlock, start: int, end: int, opening: str, closing: str
) -> tuple[str, int] | None:
    """Read from an opening to a line that ends with the closing; anything after that makes it no formula apart."""
    lines: list[str] = []
    for at in range(start, min(end, start + MAX_FORMULA_LINES)):
        line = _line_text(state, at).removeprefix(opening) if at == start else _line_text(state, at)
        before, found, after = line.rstrip().partition(closing)
        lines.append(before)
        if found:
            latex = "\n".join(lines).strip()
            return (latex, at) if not after and latex and len(latex) <= MAX_FORMULA_CHARS else None
    return None


def _line_text(state: StateBlock, index: int) -> str:
    return state.src[state.bMarks[index] + state.tShift[index] : state.eMarks[index]]
