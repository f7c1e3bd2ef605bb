from typing import Any

import pytest
from litestar import get
from litestar.testing import create_test_client

from moot.server.paging import Cursor, Limit


@get("/")
async def page(cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    return {"cursor": cursor, "limit": limit}


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("", {"cursor": None, "limit": 50}),
        ("?limit=1", {"cursor": None, "limit": 1}),
        ("?limit=100&cursor=project_01", {"cursor": "project_01", "limit": 100}),
        ("?cursor=WzEuNSwiZGlzX18xIl0-_A==", {"cursor": "WzEuNSwiZGlzX18xIl0-_A==", "limit": 50}),
    ],
)
def test_a_page_is_asked_for(query: str, seen: dict[str, Any]) -> None:
    with create_test_client([page]) as client:
        assert client.get(f"/{query}").json() == seen


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=101", "?limit=x", "?cursor=%00", "?cursor=", "?cursor=a%0A"]
)
def test_what_is_no_page_is_refused(query: str) -> None:
    with create_test_client([page]) as client:
        assert client.get(f"/{query}").status_code == 400
