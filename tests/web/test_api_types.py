"""The page's types are those of the server."""

from web.api_types import WRITTEN, typescript


def test_generated_api_types_are_up_to_date() -> None:
    assert WRITTEN.read_text("utf-8") == typescript(), "run `python web/api_types.py`"
