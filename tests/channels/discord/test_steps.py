from moot.channels.discord.steps import speaker_of
from moot.model.participants import Participant


def test_a_picture_of_ones_own_is_shown_and_else_one_of_discords() -> None:
    own = Participant("alpha", "Alpha", "scripted/one", avatar="https://moot.example/a.png")
    assert speaker_of(own).avatar == "https://moot.example/a.png"
    bare = speaker_of(Participant("alpha", "Alpha", "scripted/one", avatar="🦉")).avatar
    assert bare is not None
    assert bare.startswith("https://cdn.discordapp.com/embed/avatars/")
