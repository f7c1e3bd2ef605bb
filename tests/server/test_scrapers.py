from typing import Any

import pytest
from litestar.connection import ASGIConnection

from moot.model.errors import NotFound
from moot.server.auth import Connection
from moot.server.scrapers import Scrapers

TOKEN = "a token for prometheus"


def coming_with(header: str | None) -> Connection:
    headers = [(b"authorization", header.encode("latin-1"))] if header else []
    scope: Any = {"type": "http", "headers": headers}
    return ASGIConnection(scope)


def test_the_user_of_this_machine_needs_no_token() -> None:
    for token in (None, TOKEN):
        Scrapers(token, local=True).check(coming_with(None))


def test_the_token_lets_in() -> None:
    Scrapers(TOKEN, local=False).check(coming_with(f"Bearer {TOKEN}"))


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize(
    "header", [None, "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer None", "Bearer \xe9"]
)
def test_others_are_told_what_is_missing(token: str | None, header: str | None) -> None:
    with pytest.raises(NotFound, match="MOOT_METRICS_TOKEN") as caught:
        Scrapers(token, local=False).check(coming_with(header))
    assert TOKEN not in str(caught.value)
