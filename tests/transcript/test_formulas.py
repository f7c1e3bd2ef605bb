"""Formulas in text, and text that only looks like a formula."""

import pytest

from moot.transcript.html import TimeBudget
from moot.transcript.html_markdown import MAX_FORMULA_CHARS, MAX_FORMULA_LINES, FormulaRenderer, MarkdownRenderer
from tests.support.safe_html import parse_safe_html

render = MarkdownRenderer(FormulaRenderer(TimeBudget(600.0)), TimeBudget(600.0))  # for all tests of this file


def formula_labels(markdown: str) -> list[str]:
    """Return the labels of the rendered formulas."""
    nodes = parse_safe_html(render(markdown)).nodes
    return [node.attributes["aria-label"] for node in nodes if node.name == "svg"]


@pytest.mark.parametrize(
    ("markdown", "formulas"),
    [
        ("So $x^2$ it is.", ["x^2"]),
        (r"So \(x^2\) it is.", ["x^2"]),
        (r"So \[x^2\] it is.", ["x^2"]),
        ("So $$x^2$$ it is.", ["x^2"]),
        ("$a$ and $b$", ["a", "b"]),
        ("$$\na\n- b\n$$", ["a\n- b"]),
        ("\\[\na = b\n\\]", ["a = b"]),
        ("Text before\n$$x$$\nand after", ["x"]),
        ("- $$x$$\n- $y$", ["x", "y"]),
        ("> $$\n> x\n> $$", ["x"]),
        ("| $a$ | $b$ |\n|---|---|\n| $c$ | d |", ["a", "b", "c"]),
        (r"$\$5 + x$", [r"\$5 + x"]),
    ],
)
def test_formulas_are_found_between_delimiters(markdown: str, formulas: list[str]) -> None:
    assert formula_labels(markdown) == formulas


@pytest.mark.parametrize(
    "markdown",
    [
        "It costs $5 and $10.",
        "It costs $5-$10.",
        "From $5 to $ 7",
        r"An escaped \$x\$.",
        "`$x$`",
        "```\n$x$\n```",
        "    $$\n    x\n    $$",
        "$$",
        "$$$$",
        "$ $",
        r"\(",
        r"\( \)",
        "$" + "x" * MAX_FORMULA_CHARS + "y$",
        "$$\n\n" + "x\n\n" * MAX_FORMULA_LINES + "$$",
    ],
)
def test_text_that_resembles_formula_is_not_rendered(markdown: str) -> None:
    assert formula_labels(markdown) == []


def test_block_formula_followed_by_text_ends_at_first_delimiter() -> None:
    assert formula_labels("$$x$$ and more\n\ny $$") == ["x"]


@pytest.mark.parametrize("apart", [False, True])
def test_invalid_formula_is_shown_as_source(apart: bool) -> None:
    shown = FormulaRenderer().render_formula(r"\frac{<b>", is_block=apart)
    assert shown == ("<pre><code>\\frac{&lt;b&gt;</code></pre>" if apart else "<code>\\frac{&lt;b&gt;</code>")


def test_formula_is_shown_as_source_when_time_budget_is_spent() -> None:
    formulas = FormulaRenderer(TimeBudget(0.0))
    assert formulas.render_formula("x", is_block=False) == "<code>x</code>"


def test_inline_formula_is_aligned_with_baseline() -> None:
    shown = FormulaRenderer().render_formula("y", is_block=False)
    assert 'style="vertical-align:-0.' in shown
    assert 'height="0.' in shown
