import pytest

from moot.discord.format.mentions import MentionResolver
from tests.discord.streaming import CHANNEL_MEMBERS

MENTIONS = MentionResolver(CHANNEL_MEMBERS.members)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@{Bob|11}", "<@11>"),
        ("@{Robert|11}", "<@11>"),
        ("@{Bob|99}", "<@11>"),
        ("@{Bob}", "<@11>"),
        ("@{11}", "<@11>"),
        ("@Bob", "<@11>"),
        ("Ask @bob, please", "Ask <@11>, please"),
        ("@Bob's", "<@11>'s"),
        ("@Bobby B is here", "<@11> is here"),
        ("@11", "<@11>"),
        ("<@11>", "<@11>"),
        ("<@!11>", "<@11>"),
        ("<@Bob>", "<@11>"),
        ("<@{Bob|11}>", "<@11>"),
        ("@[Bob]", "<@11>"),
        ('@"Bob"', "<@11>"),
        ("\uff20Bob", "<@11>"),
        ("@@Bob", "<@11>"),
        ("@Bobさん、どうも", "<@11>さん、どうも"),
    ],
)
def test_one_member_is_mentioned_however_that_was_written(text: str, wanted: str) -> None:
    assert MENTIONS.resolve_mentions(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@Sam", "Sam"),  # there are two
        ("@{Sam}", "Sam"),
        ("@Nobody", "Nobody"),
        ("@{Nobody|99}", "Nobody"),
        ("<@99>", "99"),
        ("<@&99>", "99"),
        ("@Bobs", "Bobs"),
        ("@bob_smith", "bob_smith"),
        ("@bob.smith", "bob.smith"),
        ("@everyone", "everyone"),
        ("@here", "here"),
        ("@{everyone|11}", "<@11>"),
        ("@{here}", "here"),
        ("<@everyone>", "everyone"),
        ("x/@everyone", "x/@\u200beveryone"),
        ("a@", "a@\u200b"),
    ],
)
def test_otherwise_the_at_goes(text: str, wanted: str) -> None:
    assert MENTIONS.resolve_mentions(text) == wanted


def test_two_sams_can_be_told_apart_by_their_ids() -> None:
    assert MENTIONS.resolve_mentions("@{Sam|12} and @{Sam|13}") == "<@12> and <@13>"


@pytest.mark.parametrize(
    "text", ["bob@example.org", "https://a.b/@Bob", "me @ home", "`@Bob`", "x `@{Bob|11}` y"]
)
def test_addresses_signs_and_code_stay(text: str) -> None:
    assert MENTIONS.resolve_mentions(text) == text


def test_a_mention_in_code_can_never_become_one() -> None:
    assert MENTIONS.resolve_mentions("`@everyone <@99>`") == "`@\u200beveryone <@\u200b99>`"


def test_a_member_called_everyone_is_not_mentioned_by_that_name() -> None:
    everyone = MentionResolver([type(CHANNEL_MEMBERS.members[0])("21", ("everyone",))])
    assert everyone.resolve_mentions("@everyone") == "everyone"


def test_all_names_of_a_room() -> None:
    assert CHANNEL_MEMBERS.all_names() == ["Alpha", "Beta", "Gamma Ray", "Bob", "Bobby B", "Sam", "Sam"]
