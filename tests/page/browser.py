"""The Chromium of the page tests. `python -m tests.page.browser` installs one where there is none; tests never do."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence

from playwright.async_api import Browser, Error, Playwright

from tests.support.process_lock import hold_process_lock

FULL_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The shell shows the same pages as the whole browser, for less than half of the processor's time.
BROWSERS = ("chromium-headless-shell", *FULL_BROWSERS)
LAUNCH_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
INSTALL_TIMEOUT_SECONDS = 900
DEBIAN_INSTALL = "apt-get install chromium-headless-shell` or `apt-get install chromium"
PLAYWRIGHT_INSTALL = "uv run playwright install chromium"


class BrowserNotFound(Exception):
    """There is no Chromium; the one line of the message says how to get one."""


async def launch_browser(playwright: Playwright, names: Sequence[str] = BROWSERS) -> Browser:
    """Start the first of these browsers that this machine has, or else the one that Playwright has installed."""
    path = _find_executable(names)
    try:
        return await playwright.chromium.launch(executable_path=path, args=list(LAUNCH_OPTIONS))
    except Error as error:
        if path is not None or "Executable doesn't exist" not in error.message:
            raise
    raise BrowserNotFound(
        f"No Chromium is installed: install one with `{DEBIAN_INSTALL if _is_debian() else PLAYWRIGHT_INSTALL}`."
    )


def install_browser() -> None:
    """Install a Chromium, unless there is one: from Debian if this is Debian, else by Playwright."""
    with hold_process_lock("chromium"):
        if _find_executable(BROWSERS):
            return
        if _is_debian() and os.geteuid() == 0:
            _run_command("apt-get", "update")
            _run_command("apt-get", "install", "-y", "--no-install-recommends", "chromium-headless-shell")
        else:
            _run_command(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium")


def _find_executable(names: Sequence[str]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _is_debian() -> bool:
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def _run_command(*arguments: str) -> None:
    subprocess.run(arguments, check=True, timeout=INSTALL_TIMEOUT_SECONDS)  # noqa: S603 - our own words


if __name__ == "__main__":
    install_browser()
