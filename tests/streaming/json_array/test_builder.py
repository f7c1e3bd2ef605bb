from moot.streaming.json_array.builder import MAX_NESTING_DEPTH, ArrayOutput, ContainerStack
from moot.streaming.json_array.items import ObjectItem, SpeechDelta


def test_container_stack_builds_nested_item() -> None:
    nest = ContainerStack()
    nest.open_container({})
    for value in ("a", 1, "b"):
        nest.add_value(value)
    nest.open_container([])
    nest.add_value(2)
    nest.close_array()
    nest.add_value("c")
    nest.add_value("d")
    nest.close_object()
    assert nest.item == {"a": 1, "b": [2], "c": "d"}
    assert not nest


def test_container_stack_drops_value_without_key() -> None:
    nest = ContainerStack()
    nest.open_container({})
    nest.add_value(1)
    nest.open_container([])
    nest.add_value(2)
    nest.close_array()
    assert nest.item == {}
    assert nest.expects_key


def test_container_stack_closes_inner_containers() -> None:
    nest = ContainerStack()
    nest.open_container([])
    nest.open_container({})
    nest.add_value("a")
    nest.open_container([])
    nest.open_container([])
    nest.close_object()
    assert nest.open_brackets(9) == "["
    nest.open_container({})
    nest.close_array()
    assert not nest
    assert nest.item == [{"a": [[]]}, {}]


def test_container_stack_ignores_unmatched_closing() -> None:
    nest = ContainerStack()
    nest.close_object()
    nest.close_array()
    nest.open_container({})
    nest.close_array()
    assert (nest.open_brackets(9), nest.has_array) == ("{", False)
    nest.close_objects()
    nest.open_container([])
    nest.close_object()
    assert (nest.open_brackets(9), nest.has_array) == ("[", True)


def test_open_brackets_are_listed_from_innermost_outwards() -> None:
    nest = ContainerStack()
    assert nest.open_brackets(2) == ""
    nest.open_container({})
    nest.add_value("a")
    nest.open_container([])
    nest.open_container([])
    assert (nest.open_brackets(1), nest.open_brackets(2), nest.open_brackets(3), nest.open_brackets(9)) == (
        "[",
        "[[",
        "[[{",
        "[[{",
    )


def test_container_stack_marks_too_deep_item_until_next_one() -> None:
    nest = ContainerStack()
    for _ in range(MAX_NESTING_DEPTH):
        nest.open_container([])
    assert not nest.too_deep
    nest.open_container([])
    assert nest.too_deep
    while nest:
        nest.close_array()
    assert nest.too_deep
    nest.open_container({})
    assert not nest.too_deep


def test_array_output_joins_speech_between_items() -> None:
    outlet = ArrayOutput()
    outlet.append_speech("a")
    outlet.append_speech("b")
    outlet.append_item({"name": "x"})
    outlet.append_speech("c")
    assert outlet.take_pieces() == [SpeechDelta("ab"), ObjectItem({"name": "x"}), SpeechDelta("c")]
    assert outlet.take_pieces() == []


def test_array_output_separates_speech_of_items_with_space() -> None:
    outlet = ArrayOutput()
    for text in ("", "One.", "", "Two.", "\nThree. ", "Four."):
        outlet.begin_item()
        outlet.append_speech(text)
    assert outlet.take_pieces() == [SpeechDelta("One. Two.\nThree. Four.")]


def test_array_output_adds_no_space_for_scripts_without_spaces() -> None:
    outlet = ArrayOutput()
    for text in ("はい。", "では", "start", "终"):
        outlet.begin_item()
        outlet.append_speech(text)
    assert outlet.take_pieces() == [SpeechDelta("はい。ではstart 终")]


def test_array_output_emits_content_before_type_once() -> None:
    outlet = ArrayOutput()
    item = {"content": "a", "type": "text"}
    outlet.append_speech_item(item)
    outlet.append_item(item)
    assert outlet.take_pieces() == [SpeechDelta("a")]
