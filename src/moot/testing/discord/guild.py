"""State of the fake Discord guild: members, channels, webhooks and messages, as API objects."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from msgspec import Struct, field

Json = dict[str, Any]
DispatchEvent = Callable[[str, Json], None]

DISCORD_EPOCH_MS = 1_420_070_400_000  # snowflakes count from 2015-01-01
MAX_CONTENT_CHARS = 2000
MAX_WEBHOOKS = 15  # per channel
FORBIDDEN_NAMES = ("discord", "clyde")
EDITABLE_FIELDS: Json = {"content": "", "components": []}  # with the value that null sets
ALL_PERMISSIONS = str(2**50 - 1)


class DiscordApiError(Exception):
    """An error response, with the HTTP status and the error code of Discord."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Upload(Struct, frozen=True):
    name: str
    data: bytes


class FakeChannel(Struct):
    id: str
    name: str
    messages: list[Json] = field(default_factory=list)
    typing_count: int = 0  # number of typing requests
    deleted: bool = False
    closed: bool = False  # the bot has no access
    webhooks_allowed: bool = True


class FakeGuild:
    def __init__(self, dispatch: DispatchEvent) -> None:
        self._dispatch = dispatch
        self._counter = count(1)
        self.id = self.new_id()
        self.bot = self._create_user("Moot", bot=True)
        self.members: dict[str, Json] = {"Moot": self.bot}
        self.channels: dict[str, FakeChannel] = {}
        self.webhooks: dict[str, Json] = {}
        self.uploads: dict[str, Upload] = {}
        self.request_bodies: list[Json] = []  # raw bodies of all send and edit requests
        self.base_url = ""

    def new_id(self) -> str:
        """Return a snowflake id. Ids increase over time, as real ones do."""
        return str((int(time.time() * 1000) - DISCORD_EPOCH_MS << 22) | next(self._counter) & 0x3FFFFF)

    def add_member(self, name: str) -> Json:
        self.members[name] = self._create_user(name)
        return self.members[name]

    def add_channel(self, name: str) -> FakeChannel:
        channel = FakeChannel(self.new_id(), name)
        self.channels[channel.id] = channel
        return channel

    def remove_channel(self, channel: FakeChannel) -> None:
        channel.deleted = True
        self._dispatch("CHANNEL_DELETE", self.channel_json(channel))

    def get_channel(self, id: str) -> FakeChannel:
        channel = self.channels.get(id)
        if channel is None or channel.deleted:
            raise DiscordApiError(404, 10003, "Unknown Channel")
        if channel.closed:
            raise DiscordApiError(403, 50001, "Missing Access")
        return channel

    def get_message(self, channel: FakeChannel, id: str) -> Json:
        for message in channel.messages:
            if message["id"] == id:
                return message
        raise DiscordApiError(404, 10008, "Unknown Message")

    def add_webhook(self, channel: FakeChannel, name: str) -> Json:
        if not channel.webhooks_allowed:
            raise DiscordApiError(403, 50013, "Missing Permissions")
        if len([one for one in self.webhooks.values() if one["channel_id"] == channel.id]) >= MAX_WEBHOOKS:
            raise DiscordApiError(400, 30007, f"Maximum number of webhooks reached ({MAX_WEBHOOKS})")
        id = self.new_id()
        webhook = {
            "id": id,
            "type": 1,
            "guild_id": self.id,
            "channel_id": channel.id,
            "user": self.bot,
            "name": name,
            "avatar": None,
            "token": f"secret-{id}",
            "application_id": self.bot["id"],
        }
        self.webhooks[id] = webhook
        return webhook

    def get_webhook(self, id: str, token: str) -> Json:
        webhook = self.webhooks.get(id)
        if webhook is None or webhook["token"] != token:
            raise DiscordApiError(404, 10015, "Unknown Webhook")
        return webhook

    def post_message(self, channel: FakeChannel, author: Json, body: Json, uploads: Sequence[Upload] = ()) -> Json:
        """Store a message and dispatch its event. Raises DiscordApiError.

        Idempotent with `enforce_nonce`: a known nonce returns the first message.
        """
        self._validate_message(body, uploads)
        if body.get("enforce_nonce"):
            for message in channel.messages:
                if (message["author"]["id"], message["nonce"]) == (author["id"], body["nonce"]):
                    return message
        message = self._create_message(channel, author, body, [self._store_upload(upload) for upload in uploads])
        channel.messages.append(message)
        self._dispatch("MESSAGE_CREATE", message)
        return message

    def post_as_webhook(self, webhook: Json, body: Json, uploads: Sequence[Upload] = ()) -> Json:
        """Store a webhook message. `username` in the body overrides the name of the webhook."""
        name = str(body.get("username") or webhook["name"])
        if len(name) > 80 or any(word in name.lower() for word in FORBIDDEN_NAMES):
            raise DiscordApiError(400, 50035, "Invalid Form Body: username")
        author = {**self._create_user(name, bot=True), "id": webhook["id"], "discriminator": "0000"}
        channel = self.get_channel(webhook["channel_id"])
        return self.post_message(
            channel, author, {**body, "webhook_id": webhook["id"], "shown_avatar": body.get("avatar_url")}, uploads
        )

    def edit_message(self, message: Json, body: Json) -> Json:
        self._validate_message({"content": message["content"], **body}, ())
        message |= {name: body[name] or empty for name, empty in EDITABLE_FIELDS.items() if name in body}
        self._dispatch("MESSAGE_UPDATE", message)
        return message

    def delete_message(self, channel: FakeChannel, id: str) -> None:
        channel.messages.remove(self.get_message(channel, id))
        self._dispatch("MESSAGE_DELETE", {"id": id, "channel_id": channel.id, "guild_id": self.id})

    def to_json(self) -> Json:
        """Return the payload of GUILD_CREATE, which follows READY."""
        members = [self._member_json(user) for user in self.members.values()]
        everyone = {
            "id": self.id,
            "name": "@everyone",
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "position": 0,
            "permissions": ALL_PERMISSIONS,
            "managed": False,
            "mentionable": False,
            "flags": 0,
        }
        return {
            "id": self.id,
            "name": "The round table",
            "owner_id": self.bot["id"],
            "roles": [everyone],
            "channels": [self.channel_json(one) for one in self.channels.values() if not one.deleted],
            "members": members,
            "member_count": len(members),
            "threads": [],
            "emojis": [],
            "stickers": [],
            "features": [],
            "voice_states": [],
            "presences": [],
            "verification_level": 0,
            "default_message_notifications": 0,
        }

    def channel_json(self, channel: FakeChannel) -> Json:
        return {
            "id": channel.id,
            "type": 0,
            "guild_id": self.id,
            "name": channel.name,
            "position": 0,
            "permission_overwrites": [],
            "parent_id": None,
            "topic": None,
        }

    def _create_user(self, name: str, *, bot: bool = False) -> Json:
        return {
            "id": self.new_id(),
            "username": name,
            "global_name": None,
            "discriminator": "0",
            "avatar": None,
            "bot": bot,
        }

    def _member_json(self, user: Json) -> Json:
        return {"user": user, "nick": None, "roles": [], "joined_at": _now(), "deaf": False, "mute": False, "flags": 0}

    def get_member(self, name: str) -> Json:
        return self._member_json(self.members[name])

    def _validate_message(self, body: Json, uploads: Sequence[Upload]) -> None:
        content = body.get("content") or ""
        if len(content) > MAX_CONTENT_CHARS:
            raise DiscordApiError(400, 50035, "Invalid Form Body: content must be 2000 or fewer in length.")
        if not (content.strip() or uploads or body.get("embeds")):
            raise DiscordApiError(400, 50006, "Cannot send an empty message")

    def _store_upload(self, upload: Upload) -> Json:
        id = self.new_id()
        self.uploads[id] = upload
        url = f"{self.base_url}/attachments/{id}/{upload.name}"
        return {"id": id, "filename": upload.name, "size": len(upload.data), "url": url, "proxy_url": url}

    def _create_message(self, channel: FakeChannel, author: Json, body: Json, attachments: list[Json]) -> Json:
        content = str(body.get("content") or "")
        known = self.members.values()
        mentions = [user for user in known if f"<@{user['id']}>" in content]
        message = {
            "id": self.new_id(),
            "type": 0,
            "channel_id": channel.id,
            "guild_id": self.id,
            "author": author,
            "content": content.strip(),
            "timestamp": _now(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [{**user, "member": {**self._member_json(user), "user": None}} for user in mentions],
            "mention_roles": [],
            "attachments": attachments,
            "embeds": body.get("embeds") or [],
            "components": body.get("components") or [],
            "pinned": False,
            "nonce": body.get("nonce"),
            "shown_avatar": body.get("shown_avatar"),
        }
        if "webhook_id" in body:
            message["webhook_id"] = body["webhook_id"]
        if replied := body.get("message_reference"):
            reference = self.get_message(channel, str(replied["message_id"]))
            message |= {
                "type": 19,
                "message_reference": {"message_id": reference["id"], "channel_id": channel.id, "guild_id": self.id},
                "referenced_message": reference,
            }
        return message


def _now() -> str:
    return datetime.now(UTC).isoformat()
