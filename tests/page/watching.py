"""A page that is watched: what must never happen on it, whatever a test does."""

import re
from urllib.parse import urlsplit

from playwright.async_api import ConsoleMessage, Dialog, Page, Request

HERE = {"127.0.0.1", "localhost"}


class Watch:
    """Keeps errors, refusals by the content policy, dialogs and requests to other hosts."""

    def __init__(self, page: Page) -> None:
        self.troubles: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def allow(self, pattern: str) -> None:
        """Let something pass that this test brings about on purpose."""
        self._allowed.append(re.compile(pattern))

    def clean(self) -> None:
        """Fail where something happened that nobody allowed."""
        troubles = [one for one in self.troubles if not any(known.search(one) for known in self._allowed)]
        assert not troubles, "\n".join(troubles)

    def _note(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._note(f"console {message.type}: {message.text}")

    async def _dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.hostname not in HERE:
            self._note(f"request to another host: {request.url}")
