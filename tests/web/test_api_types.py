"""The page's types are those of the server."""

from web.api_types import WRITTEN, typescript


def test_the_types_of_the_page_are_what_the_server_says() -> None:
    assert WRITTEN.read_text("utf-8") == typescript(), "run `python web/api_types.py`"
