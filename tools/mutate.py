"""Mutation check: change one small thing in the source, run the tests of its module, print what no test noticed.

Run `uv run python -m tools.mutate --number 150 --seed 1`. The changes are made in a clone of the last commit, with an
environment of its own; the working tree is not touched. The exit code is 1 when fewer than `--least` percent of the
mutants were killed.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
# Test doubles, and tables and migrations, which a test compares with each other.
SKIPPED_PARTS = ("testing", "migrations", "schema", "static")
SAMPLES = "sample_"  # texts for demonstrations
TIMEOUT_SECONDS = 120  # of one test file: a mutant that loops for ever is killed by this
MIN_PERCENT = 85

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


KINDS = ("comparison", "condition", "constant", "line", "return")


class Mutant(NamedTuple):
    """One change: `new` stands where the source has the characters from `start` to `end`."""

    module: Path  # relative to src/moot
    line: int
    start: int
    end: int
    new: str
    kind: str


def modules(source: Path) -> list[Path]:
    found = sorted(path.relative_to(source) for path in source.rglob("*.py"))
    return [
        module
        for module in found
        if module.name != "__init__.py"
        and not module.name.startswith(SAMPLES)
        and not set(module.parts) & set(SKIPPED_PARTS)
    ]


def mirrored_tests(module: Path) -> Path:
    return Path("tests", module.parent, f"test_{module.name}")


def mutants(module: Path, text: str) -> Iterator[Mutant]:
    """Every change that can be made to a module."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    for node, new, kind in _changes(ast.parse(text)):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        yield Mutant(module, node.lineno, start, end, new, kind)


def _changes(root: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield what is replaced, by what, and the kind of change."""
    for node in _executed_nodes(root):
        match node:
            case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
                changed = copy.deepcopy(node)
                changed.ops = [COMPARISONS[type(op)]()]
                yield node, f"({ast.unparse(changed)})", "comparison"
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test, f"(not ({ast.unparse(test)}))", "condition"
            case ast.Constant(value=value) if (other := _other_constant(value)) is not None:
                yield node, other, "constant"
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise():
                yield node, "pass", "line"
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield value, "None", "return"


def _other_constant(value: object) -> str | None:
    """Change numbers, truth values, names and states. Sentences stay: tests need not repeat every word for people."""
    match value:
        case bool():
            return str(not value)
        case int() | float():
            return repr(value + 1)
        case str() if value.isidentifier():
            return repr(f"{value}_")
    return None


def _executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what is executed: no annotations, no imports, no f-strings, no docstrings, no type-checking blocks."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_comment", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_declaration(child):
                yield from _executed_nodes(child)


def _is_declaration(node: ast.AST) -> bool:
    """Tell whether mypy, and no test, would notice a change; or a reader of the log alone."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.keyword(arg="frozen" | "kw_only"):
            return True
        case ast.Assign(value=ast.Subscript(value=ast.Name(id="Literal" | "Annotated"))):
            return True
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith("log.")


def choose(source: Path, number: int, seed: int, only: Sequence[str]) -> list[Mutant]:
    """Choose changes of each kind by turns, their places by chance."""
    every = [
        mutant
        for module in modules(source)
        if not only or any(str(module).startswith(name) for name in only)
        for mutant in mutants(module, (source / module).read_text("utf-8"))
    ]
    chance = random.Random(seed)  # noqa: S311 - the same seed, the same changes
    chance.shuffle(every)
    kinds = [[mutant for mutant in every if mutant.kind == kind] for kind in KINDS]
    return [mutant for row in zip_longest(*kinds) for mutant in row if mutant is not None][:number]


class Clone:
    """A clone of the last commit with an environment of its own, in which mutants are made and tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run("git", "clone", "--quiet", str(ROOT), str(folder), cwd=ROOT)
        if (ROOT / "uv.lock").exists():
            shutil.copy(ROOT / "uv.lock", folder)
        self._run("uv", "sync", "--quiet", cwd=folder)

    def _run(self, *command: str, cwd: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        subprocess.run(command, cwd=cwd, check=True, env=environment | {"MOOT_SKIP_PAGE": "1"})  # noqa: S603 - our own words

    def outcome(self, mutant: Mutant) -> str:
        """Make a mutant, and say what its tests say: `killed`, `killed by time` or `SURVIVED`."""
        path = self.folder / "src" / "moot" / mutant.module
        original = path.read_bytes()
        path.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
        try:
            return "SURVIVED" if self.passes(mutant.module) else "killed"
        except subprocess.TimeoutExpired:
            return "killed by time"
        finally:
            path.write_bytes(original)

    def passes(self, module: Path) -> bool:
        """Run the tests of a module in the default ring; the first failure ends it."""
        words = ("-x", "-n", "0")
        ended = subprocess.run(  # noqa: S603 - our own words
            [self.folder / ".venv/bin/python", "-m", "pytest", *words, mirrored_tests(module)],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return ended.returncode == 0


def show(mutant: Mutant) -> str:
    text = (ROOT / "src" / "moot" / mutant.module).read_bytes()
    old = " ".join(text[mutant.start : mutant.end].decode().split())
    return f"src/moot/{mutant.module}:{mutant.line}: {mutant.kind}: {old[:100]} -> {mutant.new[:100]}"


def check(chosen: Sequence[Mutant], jobs: int) -> list[Mutant]:
    """Try every mutant, and return the survivors."""
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="moot-mutants-") as folder:
        clones: Queue[Clone] = Queue()
        for job in range(jobs):
            clones.put(Clone(Path(folder, str(job))))

        def try_mutant(mutant: Mutant) -> str:
            clone = clones.get()
            try:
                return clone.outcome(mutant)
            finally:
                clones.put(clone)

        with ThreadPoolExecutor(jobs) as pool:
            for number, (mutant, outcome) in enumerate(zip(chosen, pool.map(try_mutant, chosen), strict=True), 1):
                survivors += [mutant] if outcome == "SURVIVED" else []
                sys.stdout.write(f"{number}/{len(chosen)} {outcome} {show(mutant)}\n")
                sys.stdout.flush()
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=MIN_PERCENT)
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("only", nargs="*", help="beginnings of module paths below src/moot, e.g. engine/hall")
    options = parser.parse_args()
    chosen = choose(ROOT / "src" / "moot", options.number, options.seed, options.only)
    if options.list:
        sys.stdout.writelines(f"{show(mutant)}\n" for mutant in chosen)
        return 0
    survivors = check(chosen, options.jobs)
    share = 100 * (len(chosen) - len(survivors)) / len(chosen)
    sys.stdout.write(f"\nSurvivors:\n{''.join(f'  {show(mutant)}{chr(10)}' for mutant in survivors)}")
    sys.stdout.write(f"{share:.1f} % of {len(chosen)} mutants killed (seed {options.seed})\n")
    return 0 if share >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
