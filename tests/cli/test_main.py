import os
import subprocess
import sys

import pytest

from moot import __version__
from tests.support.moot_process import MOOT_SCRIPT, TIMEOUT_SECONDS, MootCli

HEAVY_LIBRARIES = (
    "aiohttp",
    "rich.live",
    "genai_prices",
    "xllamacpp",
    "uvloop",
    "sqlalchemy",
    "litestar",
    "mcp",
)
HELP_PROGRAM = "import sys; sys.argv = ['moot', '--help']; from moot.cli.main import app; app(standalone_mode=False)"


def loaded_libraries(code: str) -> set[str]:
    """Run code in a new interpreter, and return the heavy libraries that it loaded."""
    probe = f"{code}\nimport sys\nprint('LOADED', *(name for name in {HEAVY_LIBRARIES!r} if name in sys.modules))"
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=120, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_loaded_libraries_reports_imports() -> None:
    assert loaded_libraries("import aiohttp") == {"aiohttp"}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import moot", marks=pytest.mark.slow, id="moot"),
        pytest.param("import moot.cli.main", marks=pytest.mark.slow, id="app"),
        pytest.param(HELP_PROGRAM, id="help"),  # it imports both
    ],
)
def test_startup_imports_no_heavy_library(code: str) -> None:
    assert loaded_libraries(code) == set()


def test_ask_imports_no_database_or_server_library() -> None:
    assert loaded_libraries("import moot.cli.ask") == {"aiohttp"}


def test_serve_listens_before_it_imports_the_server() -> None:
    assert loaded_libraries("import moot.cli.serve") <= {"uvloop"}


def test_help_names_every_command(moot: MootCli) -> None:
    done = moot("--help")
    assert done.returncode == 0
    for command in ("ask", "models", "doctor", "lab", "--version"):
        assert f"  {command}  " in done.stdout


def test_missing_command_prints_help(moot: MootCli) -> None:
    done = moot()
    assert done.returncode == 2
    assert "Usage: moot" in done.stdout + done.stderr


def test_version_option_prints_version(moot: MootCli) -> None:
    done = moot.run_script("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("aks", "hi"), "aks"),
        (("ask", "hi", "--modle", "scripted/echo"), "--modle"),
        (("ask", "hi", "--temperature", "3"), "--temperature"),
    ],
)
def test_invalid_option_is_named_in_error(moot: MootCli, arguments: tuple[str, ...], named: str) -> None:
    done = moot(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("models",), ("lab", "list"), ("ask", "hi", "-m", "scripted/echo")])
def test_commands_end_quietly_when_stdout_is_closed_pipe(moot: MootCli, arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with moot.start_process(*arguments, stdout=write) as process:
        os.close(write)
        process.wait(timeout=TIMEOUT_SECONDS)
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "closed",
    ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.slow) for one in ("<&-", ">&-", "2>&-"))],
)
def test_ask_works_with_closed_standard_streams(moot: MootCli, closed: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own script
        ["/bin/bash", "-c", f"{MOOT_SCRIPT} ask hi -m scripted/echo --usage {closed}"],
        env=moot.environment,
        cwd=moot.folder,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_output_works_in_ascii_encoding(moot: MootCli) -> None:
    done = moot.run_script("lab", "list", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
