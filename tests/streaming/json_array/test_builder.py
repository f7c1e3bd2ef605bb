from moot.streaming.json_array.builder import MAX_NESTING_DEPTH, ArrayOutput, ContainerStack
from moot.streaming.json_array.items import ObjectItem, SpeechDelta


def test_values_go_where_they_belong() -> None:
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


def test_a_value_without_a_key_is_left_out() -> None:
    nest = ContainerStack()
    nest.open_container({})
    nest.add_value(1)
    nest.open_container([])
    nest.add_value(2)
    nest.close_array()
    assert nest.item == {}
    assert nest.expects_key


def test_closing_closes_what_was_left_open_inside() -> None:
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


def test_closing_what_was_never_opened_does_nothing() -> None:
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


def test_the_path_goes_from_the_innermost_outwards() -> None:
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


def test_an_item_that_is_too_deep_is_known_and_the_next_one_is_not() -> None:
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


def test_speech_is_joined_until_an_item_comes_between() -> None:
    outlet = ArrayOutput()
    outlet.append_speech("a")
    outlet.append_speech("b")
    outlet.append_item({"name": "x"})
    outlet.append_speech("c")
    assert outlet.take_pieces() == [SpeechDelta("ab"), ObjectItem({"name": "x"}), SpeechDelta("c")]
    assert outlet.take_pieces() == []


def test_another_items_speech_is_kept_apart_once_it_has_words() -> None:
    outlet = ArrayOutput()
    for text in ("", "One.", "", "Two.", "\nThree. ", "Four."):
        outlet.begin_item()
        outlet.append_speech(text)
    assert outlet.take_pieces() == [SpeechDelta("One. Two.\nThree. Four.")]


def test_scripts_without_spaces_get_none() -> None:
    outlet = ArrayOutput()
    for text in ("はい。", "では", "start", "终"):
        outlet.begin_item()
        outlet.append_speech(text)
    assert outlet.take_pieces() == [SpeechDelta("はい。ではstart 终")]


def test_content_that_came_before_its_type_is_said_once() -> None:
    outlet = ArrayOutput()
    item = {"content": "a", "type": "text"}
    outlet.append_speech_item(item)
    outlet.append_item(item)
    assert outlet.take_pieces() == [SpeechDelta("a")]
