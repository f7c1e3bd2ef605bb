from moot.streams.items import Grown, Item
from moot.streams.outlet import Outlet


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
