"""The double: one server of Discord on a port, people who write there, and a transcript of what they see."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from moot.testing.discord.gateway import Gateway
from moot.testing.discord.guild import ALL_PERMISSIONS, Channel, Guild, Json, Upload
from moot.testing.discord.rest import BASE, Rest

TOKEN = "token-of-the-double"  # noqa: S105 - of nobody
SECONDS = 60.0
LOOK_SECONDS = 0.01
COMMAND, COMPONENT = 2, 3  # kinds of interactions


class Double:
    def __init__(self, token: str = TOKEN) -> None:
        self.gateway = Gateway(token)
        self.guild = Guild(self.gateway.dispatch)
        self.gateway.guild = self.guild
        self.rest = Rest(self.guild, token)
        self.faults = self.rest.faults
        self.url = ""

    @property
    def base(self) -> str:
        """Where the API is, for `discord.http.Route.BASE`."""
        return f"{self.url}{BASE}"

    def channel(self, name: str) -> Channel:
        return self.guild.add_channel(name)

    def say(
        self,
        channel: Channel,
        who: str,
        text: str,
        files: Sequence[Upload] = (),
        reply_to: Json | None = None,
    ) -> Json:
        """Let a member write something."""
        author = self.guild.members.get(who) or self.guild.add_member(who)
        body: Json = {"content": text}
        if reply_to is not None:
            body["message_reference"] = {"message_id": reply_to["id"]}
        return self.guild.post(channel, author, body, files)

    def command(self, channel: Channel, who: str, name: str, /, **options: str | int) -> str:
        """Let a member use a command of `/moot`; what it is answered comes to `replies`."""
        given = [
            {"name": option, "type": 4 if isinstance(value, int) else 3, "value": value}
            for option, value in options.items()
        ]
        data = {
            "id": self._command_id(),
            "name": "moot",
            "type": 1,
            "options": [{"name": name, "type": 1, "options": given}],
        }
        return self._interact(channel, who, {"type": COMMAND, "data": data})

    def press(
        self, channel: Channel, who: str, message: Json, label: str, permissions: str = ALL_PERMISSIONS
    ) -> str:
        """Let a member press a button of a message, as it was or as it is now."""
        [button] = [
            one for row in message["components"] for one in row["components"] if one["label"] == label
        ]
        data = {"custom_id": button["custom_id"], "component_type": button["type"]}
        event = {"type": COMPONENT, "data": data, "message": message}
        return self._interact(channel, who, event, permissions)

    def _interact(self, channel: Channel, who: str, what: Json, permissions: str = ALL_PERMISSIONS) -> str:
        """Tell the bot what a member did, and return the token with which it may answer."""
        author = self.guild.members.get(who) or self.guild.add_member(who)
        id = self.guild.new_id()
        token = f"interaction-{id}"
        self.rest.pending[token] = {"channel_id": channel.id, "flags": 0, "type": what["type"]}
        event = {
            "id": id,
            "application_id": self.guild.bot["id"],
            "token": token,
            "version": 1,
            "guild_id": self.guild.id,
            "channel_id": channel.id,
            "channel": self.guild.channel_json(channel),
            "member": {**self.guild.member(author["username"]), "permissions": permissions},
            "attachment_size_limit": 10 * 1024 * 1024,
            "app_permissions": "0",
            "locale": "en-GB",
            "entitlements": [],
            **what,
        }
        self.gateway.dispatch("INTERACTION_CREATE", event)
        return token

    def _command_id(self) -> str:
        return next((one["id"] for one in self.rest.commands if one["name"] == "moot"), "0")

    def shown(self, channel: Channel) -> list[tuple[str, str]]:
        """Return who wrote what in a channel, files by their names."""
        return [(message["author"]["username"], _text(message)) for message in channel.messages]

    def transcript(self, channel: Channel) -> str:
        return "".join(f"{who}: {text}\n" for who, text in self.shown(channel))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what must come about; the time is only for machines that are very busy."""
        try:
            async with asyncio.timeout(SECONDS):
                while not condition():  # noqa: ASYNC110 - many things may bring it about
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            shown = "\n".join(f"#{one.name}\n{self.transcript(one)}" for one in self.guild.channels.values())
            raise TimeoutError(f"It did not come about:\n{shown}") from None

    async def until_shown(self, channel: Channel, words: str) -> Json:
        """Wait until a message with these words is there, and return it."""
        await self.until(lambda: any(words in one["content"] for one in channel.messages))
        return next(one for one in channel.messages if words in one["content"])


def _text(message: Json) -> str:
    files = [f"[{one['filename']}]" for one in message["attachments"]]
    return " ".join([*filter(None, [message["content"]]), *files])


@asynccontextmanager
async def serving(double: Double, port: int = 0) -> AsyncIterator[Double]:
    """Serve until the block ends."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes([*double.rest.routes(), web.get("/gateway/", double.gateway.serve)])
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, taken = runner.addresses[0][:2]
        double.url = double.guild.address = f"http://{host}:{taken}"
        double.gateway.address = f"ws://{host}:{taken}/gateway/"
        yield double
    finally:
        await double.gateway.close()
        await runner.cleanup()
