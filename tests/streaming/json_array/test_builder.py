from moot.streaming.json_array.builder import DEEPEST, Nest, Outlet
from moot.streaming.json_array.items import Grown, Item


def test_values_go_where_they_belong() -> None:
    nest = Nest()
    nest.open({})
    for value in ("a", 1, "b"):
        nest.put(value)
    nest.open([])
    nest.put(2)
    nest.close_array()
    nest.put("c")
    nest.put("d")
    nest.close_object()
    assert nest.item == {"a": 1, "b": [2], "c": "d"}
    assert not nest


def test_a_value_without_a_key_is_left_out() -> None:
    nest = Nest()
    nest.open({})
    nest.put(1)
    nest.open([])
    nest.put(2)
    nest.close_array()
    assert nest.item == {}
    assert nest.wants_key


def test_closing_closes_what_was_left_open_inside() -> None:
    nest = Nest()
    nest.open([])
    nest.open({})
    nest.put("a")
    nest.open([])
    nest.open([])
    nest.close_object()
    assert nest.path(9) == "["
    nest.open({})
    nest.close_array()
    assert not nest
    assert nest.item == [{"a": [[]]}, {}]


def test_closing_what_was_never_opened_does_nothing() -> None:
    nest = Nest()
    nest.close_object()
    nest.close_array()
    nest.open({})
    nest.close_array()
    assert (nest.path(9), nest.has_array) == ("{", False)
    nest.close_objects()
    nest.open([])
    nest.close_object()
    assert (nest.path(9), nest.has_array) == ("[", True)


def test_the_path_goes_from_the_innermost_outwards() -> None:
    nest = Nest()
    assert nest.path(2) == ""
    nest.open({})
    nest.put("a")
    nest.open([])
    nest.open([])
    assert (nest.path(1), nest.path(2), nest.path(3), nest.path(9)) == ("[", "[[", "[[{", "[[{")


def test_an_item_that_is_too_deep_is_known_and_the_next_one_is_not() -> None:
    nest = Nest()
    for _ in range(DEEPEST):
        nest.open([])
    assert not nest.too_deep
    nest.open([])
    assert nest.too_deep
    while nest:
        nest.close_array()
    assert nest.too_deep
    nest.open({})
    assert not nest.too_deep


def test_speech_is_joined_until_an_item_comes_between() -> None:
    outlet = Outlet()
    outlet.say("a")
    outlet.say("b")
    outlet.give({"name": "x"})
    outlet.say("c")
    assert outlet.taken() == [Grown("ab"), Item({"name": "x"}), Grown("c")]
    assert outlet.taken() == []


def test_another_items_speech_is_kept_apart_once_it_has_words() -> None:
    outlet = Outlet()
    for text in ("", "One.", "", "Two.", "\nThree. ", "Four."):
        outlet.begin()
        outlet.say(text)
    assert outlet.taken() == [Grown("One. Two.\nThree. Four.")]


def test_scripts_without_spaces_get_none() -> None:
    outlet = Outlet()
    for text in ("はい。", "では", "start", "终"):
        outlet.begin()
        outlet.say(text)
    assert outlet.taken() == [Grown("はい。ではstart 终")]


def test_content_that_came_before_its_type_is_said_once() -> None:
    outlet = Outlet()
    item = {"content": "a", "type": "text"}
    outlet.speak(item)
    outlet.give(item)
    assert outlet.taken() == [Grown("a")]
