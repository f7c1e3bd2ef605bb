import re

from moot.board.dark import EDGE, INK, PAPER, darkened, filters
from moot.board.replay import EMPTY, replayed
from moot.board.svg import svg
from tests.board.lesson import LESSON
from tests.board.parsing import parsed

DRAWN = "{http://www.w3.org/2000/svg}g"


def shown(*colour: float) -> list[float]:
    """Do with a colour what the filter does."""
    found = re.search(r'values="([^"]+)"', filters())
    assert found is not None
    values = [float(value) for value in found[1].split()]
    rows = [values[at : at + 5] for at in range(0, 15, 5)]
    return [
        min(max(sum(share * part for share, part in zip(row, (*colour, 1, 1), strict=True)), 0), 1)
        for row in rows
    ]


def test_white_becomes_dark_and_black_light() -> None:
    assert max(shown(1, 1, 1)) < 0.13
    assert min(shown(0, 0, 0)) > 0.9


def test_a_hue_stays_what_it_is() -> None:
    red, green, blue = shown(0.7, 0.1, 0.1)
    assert red > max(green, blue)
    red, green, blue = shown(0.1, 0.2, 0.7)
    assert blue > max(red, green)


def test_code_is_light_on_dark_already_and_all_else_is_darkened() -> None:
    root = parsed(svg(replayed(LESSON), dark=True))[0]
    paper = root.find("{*}rect")
    assert paper is not None
    assert (paper.get("fill"), paper.get("stroke")) == (PAPER, EDGE)
    for group in root.findall(DRAWN):
        is_code = group.get("data-kind") == "code"
        assert [one.get("filter") for one in group].count(f"url(#{INK})") == (0 if is_code else 1)


def test_an_empty_board_refers_to_nothing() -> None:
    assert INK not in svg(EMPTY, dark=True).replace(filters(), "")
    assert f'filter="url(#{INK})"' in darkened("<rect/>")
