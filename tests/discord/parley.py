"""A house, the bot in it, and a Discord of its own: all of it real but for Discord."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import discord
import discord.webhook.async_
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from msgspec.structs import replace

from moot.app.container import Services, opened
from moot.cli import discord as command
from moot.providers.catalog import ProviderConfig
from moot.providers.scripted import provider
from moot.services import image_renderer
from moot.settings import DiscordSettings, RateSettings, Settings
from moot.testing.discord.guild import FakeChannel, Json
from moot.testing.discord.server import FAKE_BOT_TOKEN, WAIT_TIMEOUT_SECONDS, FakeDiscord, serve_discord
from moot.tools.config import ServerConfig
from tests.databases import migrated_url
from tests.server.talking import SECRET

T = TypeVar("T")
SHORT_SECONDS = 0.02
UNHURRIED = RateSettings(messages_a_minute=1_000_000, debates_a_minute=1_000_000)
SCRIPTS = """
[one]
answer = "The first word.\\n\\nAnd the second."

[brief]
answer = "A brief answer."

[other]
answer = "Another answer."

[hanging]
answer = "It begins.\\n\\nAnd it would go on for a long time, if nobody stopped it."
when = { "Shortly" = "Well then." }
chunk = 20
pace = 600.0

[thinker]
answer = "So be it."
thoughts = "Hm, let me see."

[tabular]
answer = "Look:\\n\\n| wood | legs |\\n| --- | --- |\\n| oak | 4 |\\n\\nThat is all."

[puppeteer]
answer = "I say yes.\\nBeta: And I say no."

[calls-beta]
answer = "What does Beta say?"

[calls-alpha]
answer = "Ask Alpha."

[echo]
answer = "{question}"

[retracting]
answer = "I think so.\\n\\nOr not.</think>Yes."
chunk = 16
pace = 1.0

[dribbling]
answer = "Drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drop."
chunk = 2
delay = 0.2
pace = 0.02

[failing]
fault = "unauthorized"

[writer]
answer = "I keep that."
then = "I was told: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "Round."}' }

[other-writer]
answer = "So do I."
then = "And I: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "Square."}' }
"""


class Parley:
    def __init__(self, house: Services, double: FakeDiscord, settings: Settings) -> None:
        self.house = house
        self.double = double
        self.settings = settings
        self.general = double.add_channel("general")
        self.aside = double.add_channel("aside")
        self._bot = AsyncExitStack()

    async def begin(self) -> None:
        """Let the bot try to come to Discord."""
        await self._bot.enter_async_context(command.run_discord_bot(self.house, self.settings))

    async def join(self) -> None:
        """Let the bot come to Discord."""
        before = self.double.gateway.identify_count
        await self.begin()
        await self.double.wait_until(lambda: self.double.gateway.identify_count > before)

    async def leave(self) -> None:
        """Let the bot go, wherever it was."""
        await self._bot.aclose()

    async def command(
        self, name: str, /, channel: FakeChannel | None = None, who: str = "anna", **options: Any
    ) -> str:
        """Use a command, and return what it is answered."""
        before = len(self.double.rest.command_replies)
        self.double.use_command(channel or self.general, who, name, **options)
        await self.double.wait_until(lambda: len(self.double.rest.command_replies) > before)
        return str(self.double.rest.command_replies[-1]["content"])

    def say(self, text: str, who: str = "anna", **more: Any) -> Json:
        return self.double.post_message(self.general, who, text, **more)

    async def shown(self, words: str) -> Json:
        return await self.double.wait_for_message(self.general, words)

    def heard(self) -> list[tuple[str, str]]:
        """Return who wrote what, without the notices of what is replied to."""
        return [
            (who, text)
            for who, text in self.double.channel_lines(self.general)
            if not text.startswith("-# Replying to")
        ]

    async def discussion(self) -> str:
        """Return what is discussed in the channel, once it is there."""
        [binding] = await self.house.channels.list_bindings("local")
        assert binding.discussion is not None
        return binding.discussion

    async def over(self) -> None:
        """Wait until nobody speaks."""
        await self.until(lambda: self.house.discussions.live_runs("local"), lambda live: not live)

    async def told(self) -> bool:
        """Tell whether everything was told in the channel."""
        [binding] = await self.house.channels.list_bindings("local")
        standings = await self.house.events.discussion_progress("local", await self.discussion())
        told = await self.house.channels.delivery_cursors(binding)
        return all(standing.last_seq == told[run] for run, standing in standings.items())

    def think_in(self, channel: FakeChannel) -> None:
        """Let a channel be the thought-log, from when the bot joins."""
        self.settings = replace(self.settings, discord=replace(self.settings.discord, thoughts=channel.id))

    async def hush(self) -> None:
        """Stop all who speak."""
        for run in await self.house.discussions.live_runs("local"):
            await self.house.runs.request_stop("local", run.id)
        await self.over()

    async def until(self, ask: Callable[[], Awaitable[T]], is_so: Callable[[T], bool]) -> None:
        """Wait until what is asked for is as it must become."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not is_so(await ask()):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def parley(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    joined: bool = True,
    tools: dict[str, ServerConfig] | None = None,
    **options: Any,
) -> AsyncIterator[Parley]:
    """Open a house with a bot in Discord; the account of this machine owns what is discussed."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setattr(image_renderer, "RENDER_TIMEOUT_SECONDS", 120.0)  # it includes the start of a process
    scripts = folder / "scripts.toml"
    scripts.write_text(SCRIPTS, "utf-8")
    async with migrated_url("sqlite", folder) as database_url, serve_discord(FakeDiscord()) as double:
        settings = Settings(
            database_url=database_url,
            model="scripted/brief",
            providers={"scripted": ProviderConfig(script=str(scripts))},
            rates=UNHURRIED,
            tools=tools or {},
            discord=DiscordSettings(**{"token": FAKE_BOT_TOKEN, **options}),
        )
        pointed_at(double, monkeypatch)
        async with opened(settings, {"MOOT_SECRET": SECRET}, "") as house:
            here = Parley(house, double, settings)
            try:
                if joined:
                    await here.join()
                yield here
            finally:
                await here.leave()
                await here.hush()
                await house.shutdown_services()
        assert all(nobody_is_called(body) for body in double.guild.request_bodies)


def nobody_is_called(body: Json) -> bool:
    """Tell whether a message that was sent can wake nobody."""
    allowed = dict(body["allowed_mentions"])
    return not allowed.pop("replied_user", False) and allowed == {"parse": []}


def pointed_at(double: FakeDiscord, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let discord.py, as it is, find the double where it looks for Discord."""
    monkeypatch.setattr(Route, "BASE", double.api_base_url)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(double.gateway.gateway_url))
    monkeypatch.setattr(discord.VoiceClient, "warn_nacl", value=False)
    for module in (discord.client, discord.http, discord.webhook.async_):
        monkeypatch.setattr(module, "asyncio", Hurried())


class Held:
    """`asyncio` for scripts: a wait of so many seconds is one for `free`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.free = asyncio.Event()
        self._seconds = seconds
        monkeypatch.setattr(provider, "asyncio", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await (self.free.wait() if seconds == self._seconds else asyncio.sleep(seconds))


class Hurried:
    """`asyncio` for discord.py: a wait of a second or more, before it tries again, is a short one."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds if seconds < 1 else SHORT_SECONDS)
