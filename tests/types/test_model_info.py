import msgspec
import pytest

from moot.types.model_info import FileKind, ModelLimits, Profile, file_kind


def test_model_limits_default_to_four_characters_per_token() -> None:
    assert ModelLimits().characters_per_token == 4


def test_model_limits_encode_only_known_values() -> None:
    assert msgspec.json.encode(ModelLimits()) == b"{}"
    assert msgspec.json.decode(b'{"context_tokens":2048}', type=ModelLimits) == ModelLimits(context_tokens=2048)


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
def test_file_kind_is_derived_from_media_type(media_type: str, kind: FileKind | None) -> None:
    assert file_kind(media_type) == kind


def test_profile_of_unknown_model_has_minimal_capabilities() -> None:
    unknown = Profile()
    assert unknown.context is None
    assert unknown.files == {"text"}
    assert unknown.thinking == "none"


def test_profile_is_immutable() -> None:
    with pytest.raises(AttributeError):
        Profile().tools = False  # type: ignore[misc]
