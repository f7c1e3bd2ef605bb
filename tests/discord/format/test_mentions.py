import pytest

from moot.discord.format.mentions import MentionResolver
from tests.discord.answer_strategies import CHANNEL_MEMBERS

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
def test_resolve_mentions_recognizes_every_spelling(text: str, wanted: str) -> None:
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
def test_resolve_mentions_removes_at_sign_of_unknown_or_ambiguous_name(text: str, wanted: str) -> None:
    assert MENTIONS.resolve_mentions(text) == wanted


def test_resolve_mentions_uses_id_for_duplicate_names() -> None:
    assert MENTIONS.resolve_mentions("@{Sam|12} and @{Sam|13}") == "<@12> and <@13>"


@pytest.mark.parametrize("text", ["bob@example.org", "https://a.b/@Bob", "me @ home", "`@Bob`", "x `@{Bob|11}` y"])
def test_resolve_mentions_keeps_addresses_and_code(text: str) -> None:
    assert MENTIONS.resolve_mentions(text) == text


def test_resolve_mentions_neutralizes_mentions_in_code() -> None:
    assert MENTIONS.resolve_mentions("`@everyone <@99>`") == "`@\u200beveryone <@\u200b99>`"


def test_resolve_mentions_ignores_member_named_everyone() -> None:
    everyone = MentionResolver([type(CHANNEL_MEMBERS.members[0])("21", ("everyone",))])
    assert everyone.resolve_mentions("@everyone") == "everyone"


def test_all_names_lists_participants_and_members() -> None:
    assert CHANNEL_MEMBERS.all_names() == ["Alpha", "Beta", "Gamma Ray", "Bob", "Bobby B", "Sam", "Sam"]
