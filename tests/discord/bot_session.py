"""A worker with the bot and a fake Discord. Only Discord is fake."""

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

from moot.app.lifecycle import Worker, open_worker
from moot.cli import discord as command
from moot.providers.catalog import ProviderConfig
from moot.providers.scripted import provider
from moot.services import image_renderer
from moot.settings import DiscordSettings, RateSettings, Settings
from moot.testing.discord.guild import FakeChannel, Json
from moot.testing.discord.server import FAKE_BOT_TOKEN, WAIT_TIMEOUT_SECONDS, FakeDiscord, serve_discord
from moot.tools.config import ServerConfig
from tests.support.databases import migrated_database_url
from tests.support.stores import ENCRYPTION_SECRET

T = TypeVar("T")
SHORT_SECONDS = 0.02
UNLIMITED_RATES = RateSettings(messages_per_minute=1_000_000, debates_per_minute=1_000_000)
SCRIPTS = """
[one]
answer = "The first word.\\n\\nAnd the second."

[brief]
answer = "A brief answer."

[other]
answer = "Another answer."

[hanging]
answer = "It begins.\\n\\nAnd it would go on for a long time, if nobody stopped it."
answer_if_contains = { "Shortly" = "Well then." }
chunk_chars = 20
chunk_interval_seconds = 600.0

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
chunk_chars = 16
chunk_interval_seconds = 1.0

[dribbling]
answer = "Drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drip, drop."
chunk_chars = 2
delay_seconds = 0.2
chunk_interval_seconds = 0.02

[failing]
fault = "unauthorized"

[writer]
answer = "I keep that."
answer_after_tool = "I was told: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "Round."}' }

[other-writer]
answer = "So do I."
answer_after_tool = "And I: {result}"
tool = { name = "notes__write_down", arguments = '{"text": "Square."}' }
"""


class BotSession:
    def __init__(self, worker: Worker, fake_discord: FakeDiscord, settings: Settings) -> None:
        self.worker = worker
        self.services = worker.services
        self.fake_discord = fake_discord
        self.settings = settings
        self.general = fake_discord.add_channel("general")
        self.other_channel = fake_discord.add_channel("aside")
        self._bot = AsyncExitStack()

    async def start_bot(self) -> None:
        """Start the bot, which may fail to connect."""
        await self._bot.enter_async_context(command.run_discord_bot(self.worker, self.settings))

    async def connect_bot(self) -> None:
        """Start the bot, and wait until it is connected."""
        before = self.fake_discord.gateway.identify_count
        await self.start_bot()
        await self.fake_discord.wait_until(lambda: self.fake_discord.gateway.identify_count > before)

    async def stop_bot(self) -> None:
        await self._bot.aclose()

    async def run_command(
        self, name: str, /, channel: FakeChannel | None = None, member: str = "anna", **options: Any
    ) -> str:
        """Use a command, and return the reply."""
        before = len(self.fake_discord.rest.command_replies)
        self.fake_discord.use_command(channel or self.general, member, name, **options)
        await self.fake_discord.wait_until(lambda: len(self.fake_discord.rest.command_replies) > before)
        return str(self.fake_discord.rest.command_replies[-1]["content"])

    def post_message(self, text: str, member: str = "anna", **fields: Any) -> Json:
        return self.fake_discord.post_message(self.general, member, text, **fields)

    async def wait_for_message(self, text: str) -> Json:
        return await self.fake_discord.wait_for_message(self.general, text)

    def visible_lines(self) -> list[tuple[str, str]]:
        """Return authors and texts, without the "Replying to" lines."""
        return [
            (who, text)
            for who, text in self.fake_discord.channel_lines(self.general)
            if not text.startswith("-# Replying to")
        ]

    async def discussion_id(self) -> str:
        """Return the discussion of the channel."""
        [binding] = await self.worker.stores.channels.list_bindings("local")
        assert binding.discussion is not None
        return binding.discussion

    async def wait_until_idle(self) -> None:
        """Wait until there is no live run."""
        await self.wait_until(lambda: self.services.discussions.live_runs("local"), lambda live: not live)

    async def is_fully_delivered(self) -> bool:
        """Return whether all events have been delivered to the channel."""
        [binding] = await self.worker.stores.channels.list_bindings("local")
        progress = await self.services.events.discussion_progress("local", await self.discussion_id())
        delivered = await self.worker.stores.channels.delivery_cursors(binding)
        return all(run_progress.last_seq == delivered[run] for run, run_progress in progress.items())

    def use_reasoning_channel(self, channel: FakeChannel) -> None:
        """Set the reasoning channel, before the bot starts."""
        self.settings = replace(self.settings, discord=replace(self.settings.discord, reasoning_channel=channel.id))

    async def stop_all_runs(self) -> None:
        for run in await self.services.discussions.live_runs("local"):
            await self.services.runs.request_stop("local", run.id)
        await self.wait_until_idle()

    async def wait_until(self, query: Callable[[], Awaitable[T]], condition: Callable[[T], bool]) -> None:
        """Repeat the query until its result meets the condition."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not condition(await query()):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def open_bot_session(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    connected: bool = True,
    tools: dict[str, ServerConfig] | None = None,
    **options: Any,
) -> AsyncIterator[BotSession]:
    """Open a worker with a bot in a fake Discord. The local account owns the discussions."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setattr(image_renderer, "RENDER_TIMEOUT_SECONDS", 120.0)  # a process has to start first
    scripts = folder / "scripts.toml"
    scripts.write_text(SCRIPTS, "utf-8")
    async with (
        migrated_database_url("sqlite", folder) as database_url,
        serve_discord(FakeDiscord()) as fake_discord,
    ):
        settings = Settings(
            database_url=database_url,
            model="scripted/brief",
            providers={"scripted": ProviderConfig(script=str(scripts))},
            rates=UNLIMITED_RATES,
            tools=tools or {},
            discord=DiscordSettings(**{"token": FAKE_BOT_TOKEN, **options}),
        )
        use_fake_discord(fake_discord, monkeypatch)
        async with open_worker(settings, {"MOOT_SECRET": ENCRYPTION_SECRET}, "") as worker:
            session = BotSession(worker, fake_discord, settings)
            try:
                if connected:
                    await session.connect_bot()
                yield session
            finally:
                await session.stop_bot()
                await session.stop_all_runs()
                await worker.shut_down()
        assert all(has_no_mention(body) for body in fake_discord.guild.request_bodies)


def has_no_mention(body: Json) -> bool:
    """Return whether a sent message mentions no member."""
    allowed = dict(body["allowed_mentions"])
    return not allowed.pop("replied_user", False) and allowed == {"parse": []}


def use_fake_discord(fake_discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point discord.py to the fake Discord."""
    monkeypatch.setattr(Route, "BASE", fake_discord.api_base_url)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(fake_discord.gateway.gateway_url))
    monkeypatch.setattr(discord.VoiceClient, "warn_nacl", value=False)
    for module in (discord.client, discord.http, discord.webhook.async_):
        monkeypatch.setattr(module, "asyncio", FastSleep())


class BlockingSleep:
    """Replaces `asyncio` in scripts: a sleep of `seconds` waits for `released`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.released = asyncio.Event()
        self._seconds = seconds
        monkeypatch.setattr(provider, "asyncio", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await (self.released.wait() if seconds == self._seconds else asyncio.sleep(seconds))


class FastSleep:
    """Replaces `asyncio` in discord.py: a sleep of a second or more is short."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds if seconds < 1 else SHORT_SECONDS)
