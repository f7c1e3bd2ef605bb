from typing import Any

import msgspec
import pytest

from moot.types.projects import PostChange, PostDraft, ProjectChange, ProjectDraft


def test_a_project_needs_only_a_name_and_a_post_begins_as_a_draft() -> None:
    assert msgspec.convert({"name": "Moot"}, ProjectDraft) == ProjectDraft(name="Moot")
    assert not msgspec.convert({"title": "News"}, PostDraft).published


@pytest.mark.parametrize(
    ("field", "type_", "said"),
    [
        ("name", ProjectDraft, {"name": ""}),
        ("description", ProjectDraft, {"name": "Moot", "description": "x" * 4001}),
        ("repository", ProjectDraft, {"name": "Moot", "repository": "a\0b"}),
        ("name", ProjectChange, {"name": None}),
        ("owner", ProjectChange, {"owner": "me"}),
        ("excerpt", PostDraft, {"title": "News", "excerpt": "x" * 4001}),
        ("published", PostChange, {"published": "yes"}),
        ("published_at", PostChange, {"published_at": 1.0}),
    ],
)
def test_a_refusal_names_the_field(field: str, type_: type[Any], said: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(said, type_)


def test_a_change_holds_only_what_was_said() -> None:
    assert msgspec.to_builtins(msgspec.convert({}, ProjectChange)) == {}
    assert msgspec.to_builtins(msgspec.convert({"published": False}, PostChange)) == {"published": False}
