from moot.discord.format.pieces import Code, Held


def test_code_has_nothing_before_it_unless_it_is_said() -> None:
    assert Code("py", "x").lead == ""


def test_what_is_held_grows_and_is_read_at_any_time() -> None:
    held = Held()
    assert (held.text(), held.last(), held.length) == ("", "", 0)
    for part in ("ab", "c"):
        held.add(part)
    assert (held.text(), held.last(), held.length) == ("abc", "c", 3)
    held.add("d")
    assert (held.text(), held.last(), held.length) == ("abcd", "d", 4)
