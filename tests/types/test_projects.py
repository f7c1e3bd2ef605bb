from typing import Any

import msgspec
import pytest

from moot.types.projects import PostChange, PostDraft, ProjectChange, ProjectDraft


def test_project_draft_needs_only_name_and_post_draft_is_unpublished() -> None:
    assert msgspec.convert({"name": "Moot"}, ProjectDraft) == ProjectDraft(name="Moot")
    assert not msgspec.convert({"title": "News"}, PostDraft).published


@pytest.mark.parametrize(
    ("field", "type_", "fields"),
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
def test_invalid_project_or_post_is_rejected_by_field(field: str, type_: type[Any], fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(fields, type_)


def test_project_and_post_changes_have_only_given_fields() -> None:
    assert msgspec.to_builtins(msgspec.convert({}, ProjectChange)) == {}
    assert msgspec.to_builtins(msgspec.convert({"published": False}, PostChange)) == {"published": False}
