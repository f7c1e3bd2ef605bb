import msgspec
import pytest

from moot.providers.listing import read_listing


def test_ids_in_order() -> None:
    assert read_listing(b'{"data": [{"id": "b", "owned_by": "x"}, {"id": "a"}]}') == ["b", "a"]


def test_anything_else_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        read_listing(b"[]")
