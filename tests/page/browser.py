"""Find a Chromium, and get one where there is none: without a browser these tests fail, they are not skipped."""

import os
import shutil
import subprocess
import sys

from tests.alone import alone

NAMES = ("chromium", "chromium-browser", "google-chrome")
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


def chromium() -> str | None:
    """Return the path of a Chromium of this machine, or None where Playwright has brought its own."""
    with alone("chromium"):
        found = _found() or _from_debian()
        if found is None:
            _from_playwright()
        return found


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _from_debian() -> str | None:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return None
    for words in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
        subprocess.run([apt, *words], check=False, timeout=SECONDS)  # noqa: S603 - our own words
    return _found()


def _from_playwright() -> None:
    words = [sys.executable, "-m", "playwright", "install", "chromium"]
    subprocess.run(words, check=True, timeout=SECONDS)  # noqa: S603 - our own words
