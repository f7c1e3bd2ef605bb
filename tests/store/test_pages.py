import pytest

from moot.store.pages import cut


@pytest.mark.parametrize(
    ("found", "page", "following"),
    [
        ([], (), None),
        ([3], (3,), None),
        ([3, 2], (3, 2), None),
        ([3, 2, 1], (3, 2), "2"),
    ],
)
def test_a_page_goes_on_after_its_last_one_if_more_was_found(
    found: list[int], page: tuple[int, ...], following: str | None
) -> None:
    assert cut(found, 2, str) == (page, following)
