"""Errors of a page that must never happen in any test."""

import re
from urllib.parse import urlsplit

from playwright.async_api import ConsoleMessage, Dialog, Page, Request

LOCAL_HOSTS = {"127.0.0.1", "localhost"}


class PageErrors:
    """Records errors, violations of the content policy, dialogs and requests to other hosts."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._add(f"error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)

    def allow(self, pattern: str) -> None:
        """Allow an error that this test causes on purpose."""
        self._allowed.append(re.compile(pattern))

    def assert_none(self) -> None:
        """Fail if an error happened that the test did not allow."""
        troubles = [one for one in self.problems if not any(known.search(one) for known in self._allowed)]
        assert not troubles, "\n".join(troubles)

    def _add(self, problem: str) -> None:
        self.problems.append(problem)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._add(f"console {message.type}: {message.text}")

    async def _on_dialog(self, dialog: Dialog) -> None:
        self._add(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.hostname not in LOCAL_HOSTS:
            self._add(f"request to another host: {request.url}")
