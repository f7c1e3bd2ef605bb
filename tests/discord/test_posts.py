import pytest

from moot.discord.format.messages import LONGEST
from moot.discord.posts import MOOT, Letter, Post, Speaker, speaker_of
from moot.types.participants import Participant


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


def test_a_picture_of_ones_own_is_shown_and_else_one_of_discords() -> None:
    own = Participant("alpha", "Alpha", "scripted/one", avatar="https://moot.example/a.png")
    assert speaker_of(own).avatar == "https://moot.example/a.png"
    bare = speaker_of(Participant("alpha", "Alpha", "scripted/one", avatar="🦉")).avatar
    assert bare is not None
    assert bare.startswith("https://cdn.discordapp.com/embed/avatars/")


def test_a_post_is_text_without_pauses_unless_it_says_so() -> None:
    post = Post(place=1, text="Yes.", speaker=MOOT)
    assert (post.kind, post.pause, post.typing, post.thought) == ("text", 0.0, 0.0, False)
