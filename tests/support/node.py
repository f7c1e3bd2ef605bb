"""The page's own tools, run by the Node of the wheel; what they need is installed when it is missing."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.process_lock import hold_process_lock
from web import build

WEB_FOLDER = Path(__file__).parents[2] / "web"
STATIC_FOLDER = WEB_FOLDER.parent / "src/moot/static"
NODE_TIMEOUT_SECONDS = 600


def run_node(*arguments: str | Path, **environment: str) -> str:
    """Run Node in the page's folder and return its output; a failure shows the output as the error."""
    return _run_command(build.node(*arguments), **environment)


def install_node_packages() -> None:
    """Install what the lock names, also what only tests need, unless it is there."""
    with hold_process_lock("npm"):
        if not (WEB_FOLDER / "node_modules/axe-core").exists():
            _run_command(build.npm("ci", "--ignore-scripts"))


def rebuild_page() -> None:
    """Build the page again if its sources have changed, so that no test sees an old one."""
    with hold_process_lock("page"):
        build.refresh(WEB_FOLDER, STATIC_FOLDER)


def _run_command(command: Sequence[str | Path], **environment: str) -> str:
    ended = subprocess.run(  # noqa: S603 - our own commands
        command,
        cwd=WEB_FOLDER,
        env={**build.environment(), "NO_COLOR": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=NODE_TIMEOUT_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"{' '.join(map(str, command[1:]))} failed:\n{ended.stdout}"
    return ended.stdout
