"""The page's own tools, run by the Node of the wheel; what they need is installed when it is missing."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.alone import alone
from web import build

WEB = Path(__file__).parent.parent / "web"
BUILT = WEB.parent / "src/moot/static"
SECONDS = 600


def node(*words: str | Path, **environment: str) -> str:
    """Run Node in the page's folder and return what it said; where it fails, that is the error."""
    return _said(build.node(*words), **environment)


def install() -> None:
    """Install what the lock names, also what only tests need, unless it is there."""
    with alone("npm"):
        if not (WEB / "node_modules/axe-core").exists():
            _said(build.npm("ci", "--ignore-scripts"))


def refresh() -> None:
    """Build the page anew where its sources have changed, so that no test sees an older one."""
    with alone("page"):
        build.refresh(WEB, BUILT)


def _said(command: Sequence[str | Path], **environment: str) -> str:
    ended = subprocess.run(  # noqa: S603 - our own words
        command,
        cwd=WEB,
        env={**build.environment(), "NO_COLOR": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, f"{' '.join(map(str, command[1:]))} failed:\n{ended.stdout}"
    return ended.stdout
