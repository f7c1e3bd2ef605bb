"""The WebSocket gateway of the fake Discord: IDENTIFY, heartbeats, numbered events and RESUME."""

import asyncio
from collections import deque
from uuid import uuid4

from aiohttp import WSMsgType, web

from moot.streaming.cancellation import cancel_tasks
from moot.testing.discord.guild import FakeGuild, Json

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 9, 10, 11
AUTHENTICATION_FAILED, DISALLOWED_INTENTS = 4004, 4014
MAX_SESSION_EVENTS = 1000
PRIVILEGED_INTENTS = (1 << 1) | (1 << 15)  # guild members and message content


class GatewaySession:
    """Events sent to one client, buffered so that it can resume after a disconnect."""

    def __init__(self) -> None:
        self.id = uuid4().hex
        self.seq = 0
        self.events: deque[Json] = deque(maxlen=MAX_SESSION_EVENTS)
        self.new_events = asyncio.Event()

    def add_event(self, name: str, data: Json) -> None:
        self.seq += 1
        self.events.append({"op": DISPATCH, "t": name, "s": self.seq, "d": data})
        self.new_events.set()

    async def send_events(self, socket: web.WebSocketResponse, after: int) -> None:
        """Send all events after a sequence number, in order, until the socket closes."""
        while not socket.closed:
            self.new_events.clear()
            for event in [one for one in self.events if one["s"] > after]:
                await socket.send_json(event)
                after = event["s"]
            await self.new_events.wait()


class FakeGateway:
    def __init__(self, token: str) -> None:
        self._token = token
        self._session: GatewaySession | None = None
        self._sockets: set[web.WebSocketResponse] = set()
        self._transports: set[asyncio.Transport] = set()
        self.guild: FakeGuild  # set by `FakeDiscord`, since the guild needs the gateway to dispatch its events
        self.gateway_url = ""
        self.allows_privileged_intents = True  # as set in the developer portal
        self.is_unavailable = False  # reject connections with 503
        self.identify_count = 0
        self.resume_count = 0
        self.heartbeat_count = 0
        self.heartbeat_seconds = 20.0

    def dispatch(self, name: str, data: Json) -> None:
        """Queue an event for the client. A disconnected client gets it after RESUME."""
        if self._session is not None:
            self._session.add_event(name, data)

    def abort_connections(self) -> None:
        """Drop all connections without a close frame."""
        for transport in self._transports:
            transport.abort()

    def drop_session(self) -> None:
        """Forget the session, so that RESUME fails."""
        self._session = None

    async def close_sockets(self) -> None:
        for socket in tuple(self._sockets):
            await socket.close(code=1001)

    async def handle_connection(self, request: web.Request) -> web.StreamResponse:
        if self.is_unavailable or request.transport is None:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        transport = request.transport
        self._sockets.add(socket)
        self._transports.add(transport)
        send_task: asyncio.Task[None] | None = None
        try:
            await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": int(self.heartbeat_seconds * 1000)}})
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    send_task = await self._handle_frame(socket, message.json()) or send_task
        finally:
            self._sockets.discard(socket)
            self._transports.discard(transport)
            if send_task is not None:
                await cancel_tasks(send_task)
        return socket

    async def _handle_frame(self, socket: web.WebSocketResponse, frame: Json) -> "asyncio.Task[None] | None":
        """Respond to a frame. After IDENTIFY or RESUME, return the task that sends the events."""
        if frame["op"] == IDENTIFY:
            return await self._identify(socket, frame["d"])
        if frame["op"] == RESUME:
            return await self._resume(socket, frame["d"])
        if frame["op"] == HEARTBEAT:
            self.heartbeat_count += 1
            await socket.send_json({"op": ACK})
        return None

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> "asyncio.Task[None] | None":
        if data["token"] != self._token:
            await socket.close(code=AUTHENTICATION_FAILED)
            return None
        if data["intents"] & PRIVILEGED_INTENTS and not self.allows_privileged_intents:
            await socket.close(code=DISALLOWED_INTENTS)
            return None
        self.identify_count += 1
        self._session = session = GatewaySession()
        ready = {
            "v": 10,
            "user": self.guild.bot,
            "guilds": [{"id": self.guild.id, "unavailable": True}],
            "session_id": session.id,
            "resume_gateway_url": self.gateway_url,
            "application": {"id": self.guild.bot["id"], "flags": 0},
        }
        session.add_event("READY", ready)
        session.add_event("GUILD_CREATE", self.guild.to_json())
        return asyncio.create_task(session.send_events(socket, 0))

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> "asyncio.Task[None] | None":
        session = self._session
        if session is None or session.id != data["session_id"]:
            await socket.send_json({"op": INVALID_SESSION, "d": False})
            return None
        self.resume_count += 1
        session.add_event("RESUMED", {})
        return asyncio.create_task(session.send_events(socket, data["seq"] or 0))
