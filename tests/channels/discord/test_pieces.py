from moot.channels.discord.pieces import Code


def test_code_has_nothing_before_it_unless_it_is_said() -> None:
    assert Code("py", "x").lead == ""
