"""The mutation check makes the changes it says, and only where something is executed."""

from pathlib import Path

import pytest

from tools.mutate import ROOT, Mutant, choose, mirrored_tests, modules, mutants

MODULE = Path("part/module.py")


def apply_mutant(text: str, mutant: Mutant) -> str:
    data = text.encode()
    return (data[: mutant.start] + mutant.new.encode() + data[mutant.end :]).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b\n", {"x = (a <= b)\n"}),
        ("x = 'é' if a else b\n", {"x = 'é' if (not (a)) else b\n", "x = 'é_' if a else b\n"}),
        ("x = 3\n", {"x = 4\n"}),
        ("x = False\n", {"x = True\n"}),
        ("close(a)\n", {"pass\n"}),
        ("def f():\n    return a\n", {"def f():\n    return None\n"}),
        ("def f():\n    raise E\n", {"def f():\n    pass\n"}),
    ],
)
def test_mutants_lists_every_change_of_the_source(text: str, expected: set[str]) -> None:
    assert {apply_mutant(text, mutant) for mutant in mutants(MODULE, text)} == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Docs."""\n',
        "x: 'Name'\n",
        "Kind = Literal['one', 'two']\n",
        "if TYPE_CHECKING:\n    import a\n",
        "log.warning('lost')\n",
        "x = 'Words for people.'\n",
        "class A(Struct, frozen=True): ...\n",
    ],
)
def test_mutants_skips_declarations_logs_and_sentences(text: str) -> None:
    assert list(mutants(MODULE, text)) == []


def test_choose_returns_same_mutants_for_same_seed() -> None:
    source = ROOT / "src" / "moot"
    assert choose(source, 10, 1, ["modes"]) == choose(source, 10, 1, ["modes"])
    assert choose(source, 10, 1, ["modes"]) != choose(source, 10, 2, ["modes"])


def test_every_mutated_module_has_a_test_file() -> None:
    assert [module for module in modules(ROOT / "src" / "moot") if not (ROOT / mirrored_tests(module)).exists()] == []
