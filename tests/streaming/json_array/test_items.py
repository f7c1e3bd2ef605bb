from moot.streaming.json_array.items import ObjectItem, action_name_and_params, has_type_text, is_speech


def test_is_speech_requires_type_text_or_only_content() -> None:
    assert is_speech({"type": "text", "content": "a", "name": "b"})
    assert is_speech({"content": "a", "mood": "calm"})
    assert not is_speech({"type": "action", "content": "a"})
    assert not is_speech({"content": "a", "tool_name": "b"})
    assert not is_speech({"content": ["a"]})


def test_has_type_text_is_false_for_non_objects() -> None:
    assert has_type_text({"type": "text"})
    assert not has_type_text(["type", "text"])
    assert not has_type_text(None)


def test_action_without_params_has_empty_params() -> None:
    assert action_name_and_params(ObjectItem({"name": "a"})) == ("a", {})
    assert action_name_and_params(
        ObjectItem({"name": "", "tool_name": "b", "params": None, "parameters": {"x": 1}})
    ) == (
        "b",
        {"x": 1},
    )
    assert action_name_and_params(ObjectItem({"name": ["a"]})) is None
