"""Formulas in running text, and what only looks like one."""

import pytest

from moot.transcript.formulas import MAX_FORMULA_CHARS, MAX_FORMULA_LINES, FormulaRenderer
from moot.transcript.html import TimeBudget
from moot.transcript.html_markdown import MarkdownRenderer
from tests.transcript.reading import parse_safe_html

render = MarkdownRenderer(FormulaRenderer(TimeBudget(600.0)), TimeBudget(600.0))  # for all tests of this file


def formula_labels(markdown: str) -> list[str]:
    """Return the formulas that were drawn."""
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
def test_formulas_are_found_between_the_usual_signs(markdown: str, formulas: list[str]) -> None:
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
def test_what_only_looks_like_a_formula_is_text(markdown: str) -> None:
    assert formula_labels(markdown) == []


def test_a_formula_that_text_goes_on_after_does_not_reach_for_a_later_sign() -> None:
    assert formula_labels("$$x$$ and more\n\ny $$") == ["x"]


@pytest.mark.parametrize("apart", [False, True])
def test_what_cannot_be_read_is_shown_as_it_is_written(apart: bool) -> None:
    shown = FormulaRenderer().render_formula(r"\frac{<b>", is_block=apart)
    assert shown == ("<pre><code>\\frac{&lt;b&gt;</code></pre>" if apart else "<code>\\frac{&lt;b&gt;</code>")


def test_after_so_much_work_formulas_are_shown_as_they_are_written() -> None:
    formulas = FormulaRenderer(TimeBudget(0.0))
    assert formulas.render_formula("x", is_block=False) == "<code>x</code>"


def test_a_formula_stands_on_the_line_of_its_text() -> None:
    shown = FormulaRenderer().render_formula("y", is_block=False)
    assert 'style="vertical-align:-0.' in shown
    assert 'height="0.' in shown
