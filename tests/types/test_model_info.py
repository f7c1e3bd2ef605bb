import msgspec
import pytest

from moot.types.model_info import FileKind, ModelLimits, Profile, file_kind


def test_four_characters_are_a_token_where_nobody_has_counted() -> None:
    assert ModelLimits().characters_per_token == 4


def test_only_what_is_known_is_written_down() -> None:
    assert msgspec.json.encode(ModelLimits()) == b"{}"
    assert msgspec.json.decode(b'{"context":2048}', type=ModelLimits) == ModelLimits(context=2048)


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
