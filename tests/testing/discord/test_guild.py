import pytest

from moot.testing.discord.guild import DiscordApiError, FakeGuild, Json, Upload


class RecordedEvents(list[tuple[str, Json]]):
    def __call__(self, name: str, data: Json) -> None:
        self.append((name, data))


@pytest.fixture
def recorded_events() -> RecordedEvents:
    return RecordedEvents()


@pytest.fixture
def guild(recorded_events: RecordedEvents) -> FakeGuild:
    return FakeGuild(recorded_events)


def test_new_ids_increase(guild: FakeGuild) -> None:
    ids = [int(guild.new_id()) for _ in range(100)]
    assert ids == sorted(set(ids))


def test_posted_message_is_dispatched(guild: FakeGuild, recorded_events: RecordedEvents) -> None:
    channel = guild.add_channel("general")
    message = guild.post_message(channel, guild.add_member("anna"), {"content": f" Hello <@{guild.bot['id']}> "})
    assert recorded_events == [("MESSAGE_CREATE", message)]
    assert message["content"] == f"Hello <@{guild.bot['id']}>"
    assert [one["username"] for one in message["mentions"]] == ["Moot"]


def test_enforced_nonce_deduplicates_messages(guild: FakeGuild) -> None:
    channel = guild.add_channel("general")
    body = {"content": "Once.", "nonce": "1", "enforce_nonce": True}
    assert guild.post_message(channel, guild.bot, body) == guild.post_message(channel, guild.bot, body)
    assert len(channel.messages) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [({"content": "x" * 2001}, 50035), ({"content": "  "}, 50006), ({}, 50006)],
)
def test_invalid_message_is_rejected_with_discord_error_code(guild: FakeGuild, body: Json, code: int) -> None:
    with pytest.raises(DiscordApiError) as refused:
        guild.post_message(guild.add_channel("general"), guild.bot, body)
    assert (refused.value.status, refused.value.code) == (400, code)


@pytest.mark.parametrize("name", ["Discordia", "clyde", "x" * 81])
def test_webhook_rejects_forbidden_names(guild: FakeGuild, name: str) -> None:
    webhook = guild.add_webhook(guild.add_channel("general"), "Moot")
    with pytest.raises(DiscordApiError, match="username"):
        guild.post_as_webhook(webhook, {"content": "Hello", "username": name})


def test_uploaded_files_are_stored(guild: FakeGuild) -> None:
    message = guild.post_message(guild.add_channel("general"), guild.bot, {}, [Upload("a.png", b"12")])
    [attachment] = message["attachments"]
    assert (attachment["filename"], attachment["size"]) == ("a.png", 2)
    assert guild.uploads[attachment["id"]].data == b"12"


def test_deleted_or_closed_channel_raises_api_error(guild: FakeGuild, recorded_events: RecordedEvents) -> None:
    gone, closed = guild.add_channel("gone"), guild.add_channel("closed")
    guild.remove_channel(gone)
    closed.closed = True
    assert recorded_events[-1][0] == "CHANNEL_DELETE"
    for channel, status in ((gone, 404), (closed, 403)):
        with pytest.raises(DiscordApiError) as refused:
            guild.get_channel(channel.id)
        assert refused.value.status == status


def test_messages_can_be_edited_and_deleted(guild: FakeGuild, recorded_events: RecordedEvents) -> None:
    channel = guild.add_channel("general")
    message = guild.post_message(channel, guild.bot, {"content": "Hello"})
    assert guild.edit_message(message, {"content": "Good day"})["content"] == "Good day"
    message["components"] = [{"type": 1, "components": []}]
    assert guild.edit_message(message, {"components": None}) == message | {
        "content": "Good day",
        "components": [],
    }
    guild.delete_message(channel, message["id"])
    names = [name for name, _ in recorded_events]
    assert names == ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"]
    with pytest.raises(DiscordApiError, match="Unknown Message"):
        guild.get_message(channel, message["id"])
