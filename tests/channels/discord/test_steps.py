from moot.channels.discord.steps import MOOT, Post, speaker_of
from moot.model.participants import Participant


def test_a_picture_of_ones_own_is_shown_and_else_one_of_discords() -> None:
    own = Participant("alpha", "Alpha", "scripted/one", avatar="https://moot.example/a.png")
    assert speaker_of(own).avatar == "https://moot.example/a.png"
    bare = speaker_of(Participant("alpha", "Alpha", "scripted/one", avatar="🦉")).avatar
    assert bare is not None
    assert bare.startswith("https://cdn.discordapp.com/embed/avatars/")


def test_a_post_is_text_without_pauses_unless_it_says_so() -> None:
    post = Post(place=1, text="Yes.", speaker=MOOT)
    assert (post.kind, post.pause, post.typing, post.thought) == ("text", 0.0, 0.0, False)
