"""The fake Discord server: one guild on a local port, with members that write messages and use commands."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from moot.testing.discord.gateway import FakeGateway
from moot.testing.discord.guild import ALL_PERMISSIONS, FakeChannel, FakeGuild, Json, Upload
from moot.testing.discord.rest import API_PATH, FakeRestApi

FAKE_BOT_TOKEN = "token-of-the-double"  # noqa: S105 - a fake token
WAIT_TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.01
COMMAND_INTERACTION, COMPONENT_INTERACTION = 2, 3  # interaction types


class FakeDiscord:
    def __init__(self, token: str = FAKE_BOT_TOKEN) -> None:
        self.gateway = FakeGateway(token)
        self.guild = FakeGuild(self.gateway.dispatch)
        self.gateway.guild = self.guild
        self.rest = FakeRestApi(self.guild, token)
        self.faults = self.rest.faults
        self.url = ""

    @property
    def api_base_url(self) -> str:
        """The value for `discord.http.Route.BASE`."""
        return f"{self.url}{API_PATH}"

    def add_channel(self, name: str) -> FakeChannel:
        return self.guild.add_channel(name)

    def post_message(
        self, channel: FakeChannel, member: str, text: str, files: Sequence[Upload] = (), reply_to: Json | None = None
    ) -> Json:
        """Post a message as a member. An unknown member is added first."""
        author = self.guild.members.get(member) or self.guild.add_member(member)
        body: Json = {"content": text}
        if reply_to is not None:
            body["message_reference"] = {"message_id": reply_to["id"]}
        return self.guild.post_message(channel, author, body, files)

    def use_command(self, channel: FakeChannel, member: str, name: str, /, **options: str | int) -> str:
        """Use a `/moot` command as a member. Returns the interaction token; replies go to `rest.command_replies`."""
        option_list = [
            {"name": option, "type": 4 if isinstance(value, int) else 3, "value": value}
            for option, value in options.items()
        ]
        data = {
            "id": self._command_id(),
            "name": "moot",
            "type": 1,
            "options": [{"name": name, "type": 1, "options": option_list}],
        }
        return self._send_interaction(channel, member, {"type": COMMAND_INTERACTION, "data": data})

    def press_button(
        self, channel: FakeChannel, member: str, message: Json, label: str, permissions: str = ALL_PERMISSIONS
    ) -> str:
        """Press a button as a member. `message` may be an old version. Returns the interaction token."""
        [button] = [one for row in message["components"] for one in row["components"] if one["label"] == label]
        data = {"custom_id": button["custom_id"], "component_type": button["type"]}
        event = {"type": COMPONENT_INTERACTION, "data": data, "message": message}
        return self._send_interaction(channel, member, event, permissions)

    def _send_interaction(
        self, channel: FakeChannel, member: str, interaction: Json, permissions: str = ALL_PERMISSIONS
    ) -> str:
        author = self.guild.members.get(member) or self.guild.add_member(member)
        id = self.guild.new_id()
        token = f"interaction-{id}"
        self.rest.pending_interactions[token] = {"channel_id": channel.id, "flags": 0, "type": interaction["type"]}
        event = {
            "id": id,
            "application_id": self.guild.bot["id"],
            "token": token,
            "version": 1,
            "guild_id": self.guild.id,
            "channel_id": channel.id,
            "channel": self.guild.channel_json(channel),
            "member": {**self.guild.get_member(author["username"]), "permissions": permissions},
            "attachment_size_limit": 10 * 1024 * 1024,
            "app_permissions": "0",
            "locale": "en-GB",
            "entitlements": [],
            **interaction,
        }
        self.gateway.dispatch("INTERACTION_CREATE", event)
        return token

    def _command_id(self) -> str:
        return next((one["id"] for one in self.rest.registered_commands if one["name"] == "moot"), "0")

    def channel_lines(self, channel: FakeChannel) -> list[tuple[str, str]]:
        """Return author and text of each message. Files are shown by name."""
        return [(message["author"]["username"], _message_text(message)) for message in channel.messages]

    def channel_transcript(self, channel: FakeChannel) -> str:
        return "".join(f"{who}: {text}\n" for who, text in self.channel_lines(channel))

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Poll until the condition is true. Raises TimeoutError with all transcripts.

        The timeout is long, so that a busy machine does not fail a test.
        """
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                while not condition():  # noqa: ASYNC110 - no single event to wait for
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            transcripts = "\n".join(
                f"#{one.name}\n{self.channel_transcript(one)}" for one in self.guild.channels.values()
            )
            raise TimeoutError(f"Condition not met within {WAIT_TIMEOUT_SECONDS:g} s:\n{transcripts}") from None

    async def wait_for_message(self, channel: FakeChannel, text: str) -> Json:
        """Wait for a message that contains `text`, and return the first."""
        await self.wait_until(lambda: any(text in one["content"] for one in channel.messages))
        return next(one for one in channel.messages if text in one["content"])


def _message_text(message: Json) -> str:
    files = [f"[{one['filename']}]" for one in message["attachments"]]
    return " ".join([*filter(None, [message["content"]]), *files])


@asynccontextmanager
async def serve_discord(fake: FakeDiscord, port: int = 0) -> AsyncIterator[FakeDiscord]:
    """Serve on loopback until the block ends. Sets the URLs of `fake`; port 0 takes a free port."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes([*fake.rest.make_routes(), web.get("/gateway/", fake.gateway.handle_connection)])
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, bound_port = runner.addresses[0][:2]
        fake.url = fake.guild.base_url = f"http://{host}:{bound_port}"
        fake.gateway.gateway_url = f"ws://{host}:{bound_port}/gateway/"
        yield fake
    finally:
        await fake.gateway.close_sockets()
        await runner.cleanup()
