"""The gateway: HELLO, IDENTIFY, READY, heartbeats, events with numbers, and RESUME after a cut."""

import asyncio
from collections import deque
from uuid import uuid4

from aiohttp import WSMsgType, web

from moot.testing.discord.guild import Guild, Json

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 9, 10, 11
WRONG_TOKEN, FORBIDDEN_INTENTS = 4004, 4014
REMEMBERED = 1000
PRIVILEGED = (1 << 1) | (1 << 15)  # members, and what is in messages


class Session:
    """What was dispatched to one client, so that it can go on after a cut."""

    def __init__(self) -> None:
        self.id = uuid4().hex
        self.seq = 0
        self.events: deque[Json] = deque(maxlen=REMEMBERED)
        self.news = asyncio.Event()

    def add(self, name: str, data: Json) -> None:
        self.seq += 1
        self.events.append({"op": DISPATCH, "t": name, "s": self.seq, "d": data})
        self.news.set()

    async def write(self, socket: web.WebSocketResponse, after: int) -> None:
        """Send everything after a number, in order, as long as the connection holds."""
        while not socket.closed:
            self.news.clear()
            for event in [one for one in self.events if one["s"] > after]:
                await socket.send_json(event)
                after = event["s"]
            await self.news.wait()


class Gateway:
    def __init__(self, token: str) -> None:
        self._token = token
        self._session: Session | None = None
        self._sockets: set[web.WebSocketResponse] = set()
        self._transports: set[asyncio.Transport] = set()
        self.guild: Guild | None = None
        self.address = ""
        self.privileged = True  # whether the portal lets the bot see members and what is in messages
        self.refusing = False  # nobody gets in
        self.identified = 0
        self.resumed = 0
        self.beats = 0
        self.interval = 20.0

    def dispatch(self, name: str, data: Json) -> None:
        """Tell the client of something that happened; while it is away it misses nothing, if it resumes."""
        if self._session is not None:
            self._session.add(name, data)

    def cut(self) -> None:
        """Break all connections, without a word."""
        for transport in self._transports:
            transport.abort()

    def forget(self) -> None:
        """Let no session be resumed."""
        self._session = None

    async def close(self) -> None:
        for socket in tuple(self._sockets):
            await socket.close(code=1001)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.refusing or request.transport is None:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        transport = request.transport
        self._sockets.add(socket)
        self._transports.add(transport)
        writing: asyncio.Task[None] | None = None
        try:
            await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": int(self.interval * 1000)}})
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    writing = await self._heard(socket, message.json()) or writing
        finally:
            self._sockets.discard(socket)
            self._transports.discard(transport)
            if writing is not None:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
        return socket

    async def _heard(self, socket: web.WebSocketResponse, frame: Json) -> "asyncio.Task[None] | None":
        """Answer a frame; whoever has a session now gets its events from a task."""
        match frame["op"]:
            case op if op == HEARTBEAT:
                self.beats += 1
                await socket.send_json({"op": ACK})
            case op if op == IDENTIFY:
                return await self._identify(socket, frame["d"])
            case op if op == RESUME:
                return await self._resume(socket, frame["d"])
        return None

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> "asyncio.Task[None] | None":
        if data["token"] != self._token:
            await socket.close(code=WRONG_TOKEN)
            return None
        if data["intents"] & PRIVILEGED and not self.privileged:
            await socket.close(code=FORBIDDEN_INTENTS)
            return None
        if self.guild is None:
            raise RuntimeError("There is no server yet.")
        self.identified += 1
        self._session = session = Session()
        ready = {
            "v": 10,
            "user": self.guild.bot,
            "guilds": [{"id": self.guild.id, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.address,
            "application": {"id": self.guild.bot["id"], "flags": 0},
        }
        session.add("READY", ready)
        session.add("GUILD_CREATE", self.guild.json())
        return asyncio.create_task(session.write(socket, 0))

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> "asyncio.Task[None] | None":
        session = self._session
        if session is None or session.id != data["session_id"]:
            await socket.send_json({"op": INVALID_SESSION, "d": False})
            return None
        self.resumed += 1
        session.add("RESUMED", {})
        return asyncio.create_task(session.write(socket, data["seq"] or 0))
