import pytest

from moot.types.drawing import DrawLatex
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.latex import (
    MAX_LAYOUT_WEIGHT,
    InvalidFormula,
    layout_formula,
    layout_weight,
    render_formula,
    strip_math_delimiters,
)
from tests.whiteboard.markup_parsing import Node, parse_markup

VALID_FORMULAS = [
    r"\frac{a}{b}",
    r"\sum_{i=1}^{n} i^2 = \frac{n(n+1)(2n+1)}{6}",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\begin{bmatrix}1&0\\0&1\end{bmatrix}^T_2 + \begin{pmatrix} a & b \\ c & d \end{pmatrix}^{-1}",
    r"\int_0^\infty e^{-x^2}\,dx=\frac{\sqrt\pi}{2}",
    r"\left(\frac{\left(a+\frac{1}{b}\right)^2}{\sqrt{c^2+d^2}}\right)^{\frac{1}{2}}",
    r"f(x)=\begin{cases} \frac{x}{2} & x>0\\ -x & x<0\end{cases}",
    r"\begin{align} a&=b\\ c&=d\end{align}",
    r"1+\cfrac{1}{1+\cfrac{1}{1+\cfrac{1}{1+\cfrac{1}{x}}}}",
    r"A = \begin{bmatrix}a_{11}&a_{12}&a_{13}\\a_{21}&a_{22}&a_{23}\\a_{31}&a_{32}&a_{33}\end{bmatrix}",
    r"\vec{v}\cdot\nabla\varphi \in \mathbb{R}, \quad \lim_{x\to 0}\frac{\sin x}{x}=1",
]
INVALID_FORMULAS = [
    r"\frac{a}{",
    "{",
    r"\left(",
    "a & b",
    r"\begin{matrix}",
    r"\text{<b>x</b>}",
    "\x07",
    " ",
    "^",
    "&#0;",
]
HEAVY_FORMULAS = [
    r"\left(" * 30 + "x" + r"\right)" * 30,
    r"\begin{matrix}" * 30 + "x" + r"\end{matrix}" * 30,
    r"\boxed{a " * 40 + "x" + "}" * 40,
    r"\left(\frac{1}{" * 30 + "x" + r"}\right)" * 30,
    r"\phantom{a+" * 6 + "x" + "}" * 6,
    r"\xrightarrow{a+" * 6 + "x" + "}" * 6,
    "a" * 1000,
    r"\text{" + "a" * 900 + r"}\left(\left(x\right)\right)\text{" + "b" * 50 + "}",
]
HOSTILE_FORMULAS = [
    r"\textcolor{url(http://example.org)}{x}",
    r"\href{http://example.org}{x}",
    r"\class{a}{x}",
    r"\style{fill:url(http://example.org)}{x}",
    r'\color{red" onload="x}{x}',
    r"\input{/etc/hostname}",
    r"\def\a{\a\a}\a",
]


def make_drawing(latex: str, color: str = "#123456") -> DrawLatex:
    return DrawLatex(latex=latex, x=0, y=0, color=color)


def render_to_tree(latex: str) -> Node:
    return parse_markup(render_formula(make_drawing(latex), Box(0, 0, 400, 80)))


@pytest.mark.parametrize("latex", VALID_FORMULAS)
def test_typical_formulas_are_rendered(latex: str) -> None:
    laid = layout_formula(latex)
    assert laid.width > 0
    assert laid.paths.startswith(("<path", "<rect"))


@pytest.mark.parametrize("latex", ["$x$", "$$x$$", r"\(x\)", r"\[ x \]", " $x$ "])
def test_strip_math_delimiters_removes_delimiters(latex: str) -> None:
    assert strip_math_delimiters(latex).strip() == "x"


def test_strip_math_delimiters_keeps_inner_signs() -> None:
    assert strip_math_delimiters(r"x \text{ costs } 5\$") == r"x \text{ costs } 5\$"


@pytest.mark.parametrize("latex", INVALID_FORMULAS)
def test_invalid_latex_is_rendered_with_reason(latex: str) -> None:
    with pytest.raises(InvalidFormula):
        layout_formula(latex)
    texts = "".join(render_to_tree(latex).itertext())
    assert texts.startswith("This LaTeX cannot be read.")


@pytest.mark.parametrize("latex", HEAVY_FORMULAS, ids=range(len(HEAVY_FORMULAS)))
def test_heavy_formula_is_rejected(latex: str) -> None:
    with pytest.raises(InvalidFormula, match="too long or too deeply nested"):
        layout_formula(latex)


def test_layout_weight_doubles_for_nested_rows() -> None:
    row = "<mrow><mi>a</mi><mi>b</mi></mrow>"
    assert layout_weight(parse_markup(row)[0]) == 1 + 2 * 2 * 2
    assert layout_weight(parse_markup(f"<mrow>{row}</mrow>")[0]) == 1 + 2 + 2 * 2 * 4
    assert layout_weight(parse_markup("<mrow>" * 500 + "</mrow>" * 500)) > MAX_LAYOUT_WEIGHT


@pytest.mark.parametrize("latex", HOSTILE_FORMULAS)
def test_hostile_latex_yields_only_paths(latex: str) -> None:
    tree = render_to_tree(latex)
    attributes = {name for node in tree.iter() for name in node.attrib}
    values = [value for node in tree.iter() for value in node.attrib.values()]
    assert {node.tag for node in tree.iter()} <= {"g", "path", "rect", "line", "text"}
    assert not {name for name in attributes if name.startswith("on") or "href" in name or name == "style"}
    assert not [value for value in values if "url" in value or "http" in value]


def test_formula_has_requested_colour() -> None:
    assert '<g transform="' in render_formula(make_drawing("x"), Box(0, 0, 400, 80))
    assert render_to_tree("x")[0].get("fill") == "#123456"
    assert [node.get("fill") for node in render_to_tree(r"x\textcolor{red}{y}").iter("path")] == [None, "red"]


def test_formula_is_scaled_to_box() -> None:
    small = render_formula(make_drawing("x" * 100), Box(0, 0, 50, 20))
    assert "scale(0.0" in small
    assert "scale(1.5" in render_formula(make_drawing("x"), Box(0, 0, 400, 80))
