"""How lists are asked for: a page at a time, newest first, from where the last page ended."""

from typing import Annotated

from litestar.params import QueryParameter

Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Cursor = Annotated[
    str | None,
    QueryParameter(
        max_length=200, pattern=r"^[A-Za-z0-9_=-]+(?!\n)$", description="The `next` of the page before"
    ),
]
