from tests.channels.discord.streaming import ROOM


def test_all_names_of_a_room() -> None:
    assert ROOM.names() == ["Alpha", "Beta", "Gamma Ray", "Bob", "Bobby B", "Sam", "Sam"]
