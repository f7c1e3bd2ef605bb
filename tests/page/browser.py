"""The Chromium of the journeys. `python -m tests.page.browser` installs one where there is none; tests never do."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence

from playwright.async_api import Browser, Error, Playwright

from tests.alone import alone

WHOLE = ("chromium", "chromium-browser", "google-chrome")
# The shell shows the same pages as the whole browser, for less than half of the processor's time.
LIGHT_FIRST = ("chromium-headless-shell", *WHOLE)
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 900
DEBIAN = "apt-get install chromium-headless-shell` or `apt-get install chromium"
ELSEWHERE = "uv run playwright install chromium"


class NoBrowser(Exception):
    """There is no Chromium; the one line of the message says how to get one."""


async def launched(playwright: Playwright, names: Sequence[str] = LIGHT_FIRST) -> Browser:
    """Start the first of these browsers that this machine has, or else the one that Playwright has installed."""
    path = _found(names)
    try:
        return await playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
    except Error as error:
        if path is not None or "Executable doesn't exist" not in error.message:
            raise
    raise NoBrowser(f"No Chromium is installed: install one with `{DEBIAN if _is_debian() else ELSEWHERE}`.")


def install() -> None:
    """Install a Chromium, unless there is one: from Debian if that is what runs here, else by Playwright."""
    with alone("chromium"):
        if _found(LIGHT_FIRST):
            return
        if _is_debian() and os.geteuid() == 0:
            _run("apt-get", "update")
            _run("apt-get", "install", "-y", "--no-install-recommends", "chromium-headless-shell")
        else:
            _run(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium")


def _found(names: Sequence[str]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _is_debian() -> bool:
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def _run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=SECONDS)  # noqa: S603 - our own words


if __name__ == "__main__":
    install()
