import pytest

from moot.channels.discord.letters import Letter
from moot.channels.discord.messages import LONGEST
from moot.channels.discord.steps import Speaker


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
def test_names_are_those_that_discord_lets_webhooks_have(name: str, shown: str) -> None:
    assert Letter(key="", text="", speaker=Speaker(name)).username == shown


def test_where_there_is_no_webhook_the_words_say_whose_they_are() -> None:
    def shown(name: str, text: str) -> str:
        return Letter(key="", text=text, speaker=Speaker(name)).under_own_name

    assert shown("Al*pha", "Yes.") == "**Alpha:** Yes."
    assert shown("Moot", "Yes.") == "Yes."
    assert shown("Alpha", "-# Replying to anna.") == "-# Replying to anna."


def test_the_longest_table_fits_also_under_the_longest_name() -> None:
    letter = Letter(key="", text=f"```\n{'x' * LONGEST}\n```", speaker=Speaker("y" * 100))
    assert len(letter.under_own_name) <= 2000
