from moot.types.discussions import Discussion
from moot.types.presets import Preset


def test_a_line_up_names_its_parts_as_a_discussion_does() -> None:
    own = {"id", "name", "created_at"}
    assert set(Preset.__struct_fields__) - own <= set(Discussion.__struct_fields__)
