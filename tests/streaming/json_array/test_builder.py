from moot.streaming.json_array.builder import MAX_NESTING_DEPTH, ArrayOutput, ContainerStack
from moot.streaming.json_array.items import ObjectItem, SpeechDelta


def test_container_stack_builds_nested_item() -> None:
    containers = ContainerStack()
    containers.open_container({})
    for value in ("a", 1, "b"):
        containers.add_value(value)
    containers.open_container([])
    containers.add_value(2)
    containers.close_array()
    containers.add_value("c")
    containers.add_value("d")
    containers.close_object()
    assert containers.item == {"a": 1, "b": [2], "c": "d"}
    assert not containers


def test_container_stack_drops_value_without_key() -> None:
    containers = ContainerStack()
    containers.open_container({})
    containers.add_value(1)
    containers.open_container([])
    containers.add_value(2)
    containers.close_array()
    assert containers.item == {}
    assert containers.expects_key


def test_container_stack_closes_inner_containers() -> None:
    containers = ContainerStack()
    containers.open_container([])
    containers.open_container({})
    containers.add_value("a")
    containers.open_container([])
    containers.open_container([])
    containers.close_object()
    assert containers.open_brackets(9) == "["
    containers.open_container({})
    containers.close_array()
    assert not containers
    assert containers.item == [{"a": [[]]}, {}]


def test_container_stack_ignores_unmatched_closing() -> None:
    containers = ContainerStack()
    containers.close_object()
    containers.close_array()
    containers.open_container({})
    containers.close_array()
    assert (containers.open_brackets(9), containers.has_array) == ("{", False)
    containers.close_objects()
    containers.open_container([])
    containers.close_object()
    assert (containers.open_brackets(9), containers.has_array) == ("[", True)


def test_open_brackets_are_listed_from_innermost_outwards() -> None:
    containers = ContainerStack()
    assert containers.open_brackets(2) == ""
    containers.open_container({})
    containers.add_value("a")
    containers.open_container([])
    containers.open_container([])
    assert (
        containers.open_brackets(1),
        containers.open_brackets(2),
        containers.open_brackets(3),
        containers.open_brackets(9),
    ) == (
        "[",
        "[[",
        "[[{",
        "[[{",
    )


def test_container_stack_marks_too_deep_item_until_next_one() -> None:
    containers = ContainerStack()
    for _ in range(MAX_NESTING_DEPTH):
        containers.open_container([])
    assert not containers.too_deep
    containers.open_container([])
    assert containers.too_deep
    while containers:
        containers.close_array()
    assert containers.too_deep
    containers.open_container({})
    assert not containers.too_deep


def test_array_output_joins_speech_between_items() -> None:
    output = ArrayOutput()
    output.append_speech("a")
    output.append_speech("b")
    output.append_item({"name": "x"})
    output.append_speech("c")
    assert output.take_pieces() == [SpeechDelta("ab"), ObjectItem({"name": "x"}), SpeechDelta("c")]
    assert output.take_pieces() == []


def test_array_output_separates_speech_of_items_with_space() -> None:
    output = ArrayOutput()
    for text in ("", "One.", "", "Two.", "\nThree. ", "Four."):
        output.begin_item()
        output.append_speech(text)
    assert output.take_pieces() == [SpeechDelta("One. Two.\nThree. Four.")]


def test_array_output_adds_no_space_for_scripts_without_spaces() -> None:
    output = ArrayOutput()
    for text in ("はい。", "では", "start", "终"):
        output.begin_item()
        output.append_speech(text)
    assert output.take_pieces() == [SpeechDelta("はい。ではstart 终")]


def test_array_output_emits_content_before_type_once() -> None:
    output = ArrayOutput()
    item = {"content": "a", "type": "text"}
    output.append_speech_item(item)
    output.append_item(item)
    assert output.take_pieces() == [SpeechDelta("a")]
