from moot.types.discussions import Discussion
from moot.types.presets import Preset


def test_preset_fields_are_discussion_fields() -> None:
    own = {"id", "name", "created_at"}
    assert set(Preset.__struct_fields__) - own <= set(Discussion.__struct_fields__)
