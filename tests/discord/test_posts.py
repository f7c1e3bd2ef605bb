import pytest

from moot.discord.format.messages import MAX_MESSAGE_CHARS, MessageAuthor
from moot.discord.posts import MessagePayload, build_table_board, parse_table_rows, participant_author
from moot.types.participants import Participant
from moot.whiteboard.render.png import render_png

TABLE = "| wood | legs |\n| :--- | ---: |\n| oak | 4 |\n| a \\| b |  |\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Sceptic", "Sceptic"),
        ("Discord of the Discordant", "D-iscord of the D-iscordant"),
        ("Clyde", "C-lyde"),
        ("x" * 100, "x" * 80),
        (" ", "Moot"),
    ],
)
def test_username_is_valid_for_discord_webhooks(name: str, shown: str) -> None:
    assert MessagePayload(key="", text="", author=MessageAuthor(name)).username == shown


def test_text_with_name_labels_text_with_author() -> None:
    def labelled_text(name: str, text: str) -> str:
        return MessagePayload(key="", text=text, author=MessageAuthor(name)).text_with_name

    assert labelled_text("Al*pha", "Yes.") == "**Alpha:** Yes."
    assert labelled_text("Moot", "Yes.") == "Yes."
    assert labelled_text("Alpha", "-# Replying to anna.") == "-# Replying to anna."


def test_text_with_name_fits_discord_limit() -> None:
    letter = MessagePayload(key="", text=f"```\n{'x' * MAX_MESSAGE_CHARS}\n```", author=MessageAuthor("y" * 100))
    assert len(letter.text_with_name) <= 2000


def test_participant_author_uses_own_avatar_or_discord_default() -> None:
    own = Participant("alpha", "Alpha", "scripted/one", avatar="https://moot.example/a.png")
    assert participant_author(own).avatar == "https://moot.example/a.png"
    bare = participant_author(Participant("alpha", "Alpha", "scripted/one", avatar="🦉")).avatar
    assert bare is not None
    assert bare.startswith("https://cdn.discordapp.com/embed/avatars/")


def test_parse_table_rows_returns_cells() -> None:
    assert parse_table_rows(TABLE) == [["wood", "legs"], ["oak", "4"], ["a | b", ""]]


def test_table_image_has_height_of_its_rows() -> None:
    table = build_table_board(TABLE)
    assert table is not None
    board, height = table
    small = render_png(board, height=height)
    assert small.startswith(b"\x89PNG")
    assert int.from_bytes(small[20:24], "big") == 1.5 * height == 1.5 * (2 * 20 + 3 * 40)


@pytest.mark.parametrize("text", ["", "no table", "| x " * 13 + "|", "| x |\n" * 31, f"| {'x' * 301} |"])
def test_build_table_board_returns_none_for_empty_and_oversized_tables(text: str) -> None:
    assert build_table_board(text) is None
