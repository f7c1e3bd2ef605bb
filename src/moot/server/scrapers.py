"""Who may read the metrics, which are totals of all tenants: the user of this machine, and whoever has their token."""

from secrets import compare_digest

from moot.model.errors import NotFound
from moot.server.auth import Connection, bearer

SCHEME = "metrics"  # how the description calls the token


class Scrapers:
    """Where everybody is `local` no token is needed; elsewhere, without a `token`, nobody reads them."""

    def __init__(self, token: str | None, *, local: bool) -> None:
        self._token = token
        self._local = local

    def check(self, connection: Connection) -> None:
        if not self._local and not self._knows(bearer(connection)):
            raise NotFound(
                "There are no metrics for you: set MOOT_METRICS_TOKEN on the server, and send it as "
                "`Authorization: Bearer …`."
            )

    def _knows(self, secret: str | None) -> bool:
        if self._token is None or secret is None:
            return False
        return compare_digest(secret.encode(), self._token.encode())
