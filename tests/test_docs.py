"""Every example in the documentation runs, and prints the output that the documentation shows."""

import asyncio
import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from moot.providers.scripted.scripts import SCRIPT_FAULTS, load_scripts
from moot.settings import Settings
from tests.support.fork_server import install_client
from tests.support.moot_server import run_moot_server

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<kind>\w+)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.(?:toml|py))\n")
EXPECTED_OUTPUT = re.compile(r"^# > ?(.*)$", re.MULTILINE)
# Programs that start cold: tools with their server, clients of the API, and Python with all of Moot.
SLOW_EXAMPLE = re.compile(
    r"--tools|moot lab|import Moot\b.*StageStarted|import (ask|ParticipantSpec|MootError)\b", re.DOTALL
)
QUICK_PAGES = ("serving.md",)  # each page of the API starts a server of its own
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")


class Block(NamedTuple):
    page: str
    kind: str
    text: str


BLOCKS = [Block(page.name, m["kind"], m["text"]) for page in PAGES for m in BLOCK.finditer(page.read_text())]


def blocks_of_kind(kind: str) -> list[Block]:
    return [block for block in BLOCKS if block.kind == kind]


def page_files(page: str, kind: str) -> dict[str, str]:
    """What a page shows under the names of files."""
    shown = [block.text for block in blocks_of_kind(kind) if block.page == page]
    return {named[1]: text for text in shown if (named := FILE.match(text))}


def mark_slow(some: list[Block]) -> list[Any]:
    """Put the examples that take long into the slow ring; there are others of their kinds."""
    return [pytest.param(one, marks=pytest.mark.slow) if SLOW_EXAMPLE.search(one.text) else one for one in some]


def block_id(block: Block) -> str:
    return f"{block.page}: {block.text.splitlines()[0][:60]}"


def environment(home: Path, *programs: Path) -> dict[str, str]:
    """Return the environment of the examples, in which some programs come before those that are installed."""
    return {
        "PATH": ":".join([*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "COLUMNS": "110",
        "LLM_LOAD_PLUGINS": "",  # as docs/openai.md says for this environment
    }


def run_command(command: list[str], folder: Path, *programs: Path) -> str:
    done = subprocess.run(  # noqa: S603 - our own examples
        command,
        cwd=folder,
        env=environment(folder, *programs),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


@pytest.fixture(scope="module")
def moot_command_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `moot` that starts quickly: tests/cli tests the installed script."""
    return install_client(tmp_path_factory.mktemp("shell"))


@pytest.mark.parametrize("block", mark_slow(blocks_of_kind("console")), ids=block_id)
def test_console_examples_print_documented_output(block: Block, moot_command_folder: Path, tmp_path: Path) -> None:
    """What a page shows under a file's name is in that file."""
    _write_page_files(block.page, tmp_path)
    for example in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = example.partition("\n")
        assert run_command(["bash", "-c", command], tmp_path, moot_command_folder) == expected


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page.name, marks=[] if page.name in QUICK_PAGES else [pytest.mark.slow])
        for page in PAGES
        if "```curl" in page.read_text()
    ],
)
async def test_api_examples_return_documented_output(page: str, tmp_path: Path) -> None:
    """The commands of a page are run in one shell, on one server with its files and settings; `…` stands for anything."""
    settings = page_files(page, "toml").get("moot.toml", "")
    served = tmp_path / "served"
    served.mkdir()
    _write_page_files(page, served)
    async with run_moot_server(served, settings=settings) as server:
        for name, text in page_files(page, "python").items():
            (tmp_path / name).write_text(_with_server_url(text, server.url))
        script = ["set -o pipefail"]
        wanted: list[str] = []
        for block in blocks_of_kind("curl"):
            for example in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:] if block.page == page else ():
                command, expected = _split_command(example)
                script += [f"echo '# {len(wanted)}'", _with_server_url(command, server.url)]
                wanted.append(expected)
        output = await asyncio.to_thread(run_command, ["bash", "-c", "\n".join(script)], tmp_path)
    outputs = re.split(r"^# \d+\n", output, flags=re.MULTILINE)[1:]
    for expected, got in zip(wanted, outputs, strict=True):
        assert re.fullmatch(re.escape(expected).replace("…", ".*"), got), (expected, got)


def _write_page_files(page: str, folder: Path) -> None:
    """Write what a page shows under the names of files."""
    for name, text in (page_files(page, "toml") | page_files(page, "py")).items():
        (folder / name).write_text(text)


def _with_server_url(text: str, url: str) -> str:
    return text.replace("http://localhost:8642", url).replace("localhost:8642", url)


def _split_command(example: str) -> tuple[str, str]:
    """Split an example into its command, which continues on indented lines, and its output."""
    lines = example.splitlines(keepends=True)
    end = next((at for at, line in enumerate(lines[1:], 1) if not line.startswith("  ")), len(lines))
    return "".join(lines[:end]).rstrip("\n"), "".join(lines[end:])


@pytest.mark.parametrize(
    "block", mark_slow([one for one in blocks_of_kind("python") if not FILE.match(one.text)]), ids=block_id
)
def test_python_examples_print_documented_output(block: Block, tmp_path: Path) -> None:
    """What a program says stands at its end, after `# >`; one that leaves it out says something."""
    output = run_command([sys.executable, "-c", block.text], tmp_path)
    assert "Traceback" not in output
    expected = EXPECTED_OUTPUT.findall(block.text)
    assert output.splitlines() == expected if expected else output


@pytest.mark.parametrize("page", sorted({block.page for block in blocks_of_kind("pycon")}))
def test_python_prompt_examples_pass_doctest(page: str) -> None:
    """The dialogues of a page are one dialogue."""
    text = "\n".join(block.text for block in blocks_of_kind("pycon") if block.page == page)
    dialogue = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(dialogue, out=report.append)
    assert report == []


@pytest.mark.parametrize("block", blocks_of_kind("toml"), ids=block_id)
def test_toml_examples_are_valid_settings_or_scripts(block: Block, tmp_path: Path) -> None:
    if "[providers." in block.text or block.text.startswith("# moot.toml\n"):
        msgspec.convert(tomllib.loads(block.text), Settings)
    else:
        (tmp_path / "script.toml").write_text(block.text)
        load_scripts(tmp_path / "script.toml")


def test_docs_have_examples_of_each_kind() -> None:
    assert {"console", "python", "toml", "sh"} <= {block.kind for block in BLOCKS}


def test_every_scripted_fault_is_documented() -> None:
    page = (ROOT / "docs" / "faults.md").read_text()
    assert set(SCRIPT_FAULTS) == set(re.findall(r"`([a-z_]+)`", page.partition("## Fake provider server")[0]))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_relative_links_point_to_existing_files(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        assert (page.parent / match["target"]).exists(), match["target"]
