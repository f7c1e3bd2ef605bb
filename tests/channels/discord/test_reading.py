from moot.channels.discord.reading import Held


def test_what_is_held_grows_and_is_read_at_any_time() -> None:
    held = Held()
    assert (held.text(), held.last(), held.length) == ("", "", 0)
    for part in ("ab", "c"):
        held.add(part)
    assert (held.text(), held.last(), held.length) == ("abc", "c", 3)
    held.add("d")
    assert (held.text(), held.last(), held.length) == ("abcd", "d", 4)
