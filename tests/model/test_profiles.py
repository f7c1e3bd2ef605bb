import pytest

from moot.model.profiles import FileKind, Profile, file_kind


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("text/plain", "text"),
        ("text/csv", "text"),
        ("application/json", "text"),
        ("application/xml", "text"),
        ("image/png", "image"),
        ("image/webp", "image"),
        ("application/pdf", "pdf"),
        ("application/zip", None),
        ("application/octet-stream", None),
        ("audio/wav", None),
        ("", None),
    ],
)
def test_a_file_is_classified_by_what_a_model_would_have_to_read(
    media_type: str, kind: FileKind | None
) -> None:
    assert file_kind(media_type) == kind


def test_of_an_unknown_model_only_what_all_can_do_is_assumed() -> None:
    unknown = Profile()
    assert unknown.context is None
    assert unknown.files == {"text"}
    assert unknown.thinking == "none"


def test_a_profile_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Profile().tools = False  # type: ignore[misc]
