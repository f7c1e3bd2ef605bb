"""Mutation check: change one small thing in the source, run the tests of that module, and print the changes that
no test noticed.

Run `python -m tools.mutate --number 150 --seed 1`. The changes are made in a clone of the last commit, with an
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
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SKIPPED_PARTS = ("lab", "migrations", "static")  # test doubles; a schema that a test compares with its tables
SAMPLES = "sample_"  # texts for demonstrations
TIMEOUT_SECONDS = 300  # a mutant that loops for ever is killed by this
LEAST_PERCENT = 85

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


def test_file(module: Path) -> Path:
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
    for node in _executed(root):
        match node:
            case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
                changed = copy.deepcopy(node)
                changed.ops = [COMPARISONS[type(op)]()]
                yield node, f"({ast.unparse(changed)})", "comparison"
            case ast.BoolOp():
                changed_op = copy.deepcopy(node)
                changed_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield node, f"({ast.unparse(changed_op)})", "and/or"
            case ast.Constant(value=bool() as value):
                yield node, str(not value), "constant"
            case ast.Constant(value=int() | float() as value):
                yield node, repr(value + 1), "constant"
            case ast.Constant(value=str() as value) if value.isidentifier():
                # Names and states. Whole sentences are left alone: tests do not repeat every word for people.
                yield node, repr(value + "_"), "constant"
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test, f"(not ({ast.unparse(test)}))", "condition"
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise():
                if not _is_log(node):
                    yield node, "pass", "line"
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield value, "None", "return"


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what is executed: no annotations, no imports, no f-strings, no docstrings, no type-checking blocks."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_comment", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_declaration(child):
                yield from _executed(child)


def _is_declaration(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(value=ast.Subscript(value=ast.Name(id="Literal" | "Annotated"))):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _is_log(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node).startswith(("log.", "logging."))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def choose(source: Path, number: int, seed: int, only: Sequence[str]) -> list[Mutant]:
    """Choose by chance among all changes, so that a long module is changed more often than a short one."""
    every = [
        mutant
        for module in modules(source)
        if not only or any(str(module).startswith(name) for name in only)
        for mutant in mutants(module, (source / module).read_text("utf-8"))
    ]
    chance = random.Random(seed)  # noqa: S311 - the same seed, the same changes
    return chance.sample(every, min(number, len(every)))


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

    def kills(self, mutant: Mutant) -> bool:
        path = self.folder / "src" / "moot" / mutant.module
        original = path.read_bytes()
        path.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
        try:
            return not self.passes(mutant.module)
        finally:
            path.write_bytes(original)

    def passes(self, module: Path) -> bool:
        """Run the tests of a module, both rings; the first failure ends it."""
        words = ("-x", "-q", "-n", "0", "-m", "slow or not slow", "--no-header", "--durations=0")
        try:
            ended = subprocess.run(  # noqa: S603 - our own words
                [self.folder / ".venv/bin/python", "-m", "pytest", *words, test_file(module)],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
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

        def killed(mutant: Mutant) -> bool:
            clone = clones.get()
            try:
                return clone.kills(mutant)
            finally:
                clones.put(clone)

        with ThreadPoolExecutor(jobs) as pool:
            for number, (mutant, dead) in enumerate(zip(chosen, pool.map(killed, chosen), strict=True), 1):
                survivors += [] if dead else [mutant]
                sys.stdout.write(f"{number}/{len(chosen)} {'killed' if dead else 'SURVIVED'} {show(mutant)}\n")
                sys.stdout.flush()
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=LEAST_PERCENT)
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
