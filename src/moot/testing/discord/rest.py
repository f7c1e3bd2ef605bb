"""Discord's HTTP API, as far as a bot needs it to speak: with buckets, refusals in its form, and faults on demand."""

from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
from aiohttp import BodyPartReader, web

from moot.testing.discord.faults import Buckets, Fault, Faults
from moot.testing.discord.guild import Guild, Json, Refusal, Upload

Handler = Callable[[web.Request], Awaitable[object]]

BASE = "/api/v10"
EPHEMERAL = 64
MAJOR = ("channel", "webhook", "token")


class Rest:
    """Each handler returns what is answered as JSON; None is 204."""

    def __init__(self, guild: Guild, token: str) -> None:
        self.guild = guild
        self.faults = Faults()
        self.buckets = Buckets()
        self.commands: list[Json] = []
        self.pending: dict[str, Json] = {}  # interactions that wait for an answer, by their tokens
        self.replies: list[Json] = []  # what commands were answered
        self.requests: list[str] = []
        self._token = token

    def routes(self) -> list[web.RouteDef]:
        told: list[tuple[str, str, Handler]] = [
            ("GET", "/users/@me", self._me),
            ("GET", "/oauth2/applications/@me", self._application),
            ("PUT", "/applications/{application}/commands", self._register),
            ("GET", "/channels/{channel}", self._channel),
            ("GET", "/channels/{channel}/messages", self._history),
            ("POST", "/channels/{channel}/messages", self._send),
            ("GET", "/channels/{channel}/messages/{message}", self._message),
            ("PATCH", "/channels/{channel}/messages/{message}", self._edit),
            ("DELETE", "/channels/{channel}/messages/{message}", self._delete),
            ("POST", "/channels/{channel}/typing", self._type),
            ("GET", "/channels/{channel}/webhooks", self._webhooks),
            ("POST", "/channels/{channel}/webhooks", self._make_webhook),
            ("POST", "/webhooks/{webhook}/{token}", self._execute),
            ("DELETE", "/webhooks/{webhook}/{token}/messages/{message}", self._unsay),
            ("POST", "/interactions/{id}/{token}/callback", self._call_back),
        ]
        made = [
            web.route(method, BASE + path, self._wrapped(path, handler)) for method, path, handler in told
        ]
        return [*made, web.get("/attachments/{id}/{name}", self._download)]

    def _wrapped(self, path: str, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            asked = f"{request.method} {request.path.removeprefix(BASE)}"
            self.requests.append(asked)
            major = " ".join(request.match_info.get(name, "") for name in MAJOR)
            room, headers = self.buckets.take(f"{request.method} {path}", major)
            fault = self.faults.take(asked)
            if fault is None and not room:
                fault = Fault(asked, "rate", retry_after=float(headers["X-RateLimit-Reset-After"]))
            if fault is not None and (refused := _refused(fault, headers)) is not None:
                return refused
            reply = await self._answered(request, handler, headers)
            if fault is not None:
                return _lost(request) if fault.kind == "lost" else _json(502, {"message": "Bad Gateway"}, {})
            return reply

        return answer

    async def _answered(
        self, request: web.Request, handler: Handler, headers: dict[str, str]
    ) -> web.Response:
        needs_token = not request.path.startswith((f"{BASE}/webhooks", f"{BASE}/interactions"))
        if needs_token and request.headers.get("Authorization") != f"Bot {self._token}":
            return _json(401, {"message": "401: Unauthorized", "code": 0}, headers)
        try:
            reply = await handler(request)
        except Refusal as error:
            return _json(error.status, {"message": str(error), "code": error.code}, headers)
        return web.Response(status=204, headers=headers) if reply is None else _json(200, reply, headers)

    async def _me(self, _: web.Request) -> Json:
        return self.guild.bot

    async def _application(self, _: web.Request) -> Json:
        return {
            "id": self.guild.bot["id"],
            "name": "Moot",
            "description": "",
            "icon": None,
            "bot_public": False,
            "bot_require_code_grant": False,
            "owner": self.guild.bot,
            "verify_key": "",
            "flags": 0,
        }

    async def _register(self, request: web.Request) -> list[Json]:
        self.commands = [
            {"id": self.guild.new_id(), "application_id": self.guild.bot["id"], "version": "1", **command}
            for command in cast("list[Json]", await request.json())
        ]
        return self.commands

    async def _channel(self, request: web.Request) -> Json:
        return self.guild.channel_json(self.guild.channel(request.match_info["channel"]))

    async def _history(self, request: web.Request) -> list[Json]:
        channel = self.guild.channel(request.match_info["channel"])
        after = int(request.query.get("after", 0))
        before = int(request.query.get("before", 2**63))
        found = [one for one in channel.messages if after < int(one["id"]) < before]
        limit = int(request.query.get("limit", 50))
        return (found[:limit] if after else found[-limit:])[::-1]

    async def _message(self, request: web.Request) -> Json:
        channel = self.guild.channel(request.match_info["channel"])
        return self.guild.message(channel, request.match_info["message"])

    async def _send(self, request: web.Request) -> Json:
        channel = self.guild.channel(request.match_info["channel"])
        body, uploads = await self._body(request)
        return self.guild.post(channel, self.guild.bot, body, uploads)

    async def _edit(self, request: web.Request) -> Json:
        message = await self._message(request)
        body, _ = await self._body(request)
        return self.guild.edit(message, body)

    async def _delete(self, request: web.Request) -> None:
        channel = self.guild.channel(request.match_info["channel"])
        self.guild.delete(channel, request.match_info["message"])

    async def _type(self, request: web.Request) -> None:
        self.guild.channel(request.match_info["channel"]).typed += 1

    async def _webhooks(self, request: web.Request) -> list[Json]:
        channel = self.guild.channel(request.match_info["channel"])
        if not channel.webhooks_allowed:
            raise Refusal(403, 50013, "Missing Permissions")
        return [one for one in self.guild.webhooks.values() if one["channel_id"] == channel.id]

    async def _make_webhook(self, request: web.Request) -> Json:
        channel = self.guild.channel(request.match_info["channel"])
        return self.guild.add_webhook(channel, (await request.json())["name"])

    async def _execute(self, request: web.Request) -> Json:
        """Take in what a webhook says; the answers of commands come by the same way."""
        body, uploads = await self._body(request)
        pending = self.pending.get(request.match_info["token"])
        if pending is None:
            webhook = self.guild.webhook(request.match_info["webhook"], request.match_info["token"])
            return self.guild.post_as(webhook, body, uploads)
        self.replies.append({"content": body.get("content", ""), "files": [one.name for one in uploads]})
        channel = self.guild.channels[pending["channel_id"]]
        if (int(pending["flags"]) | int(body.get("flags") or 0)) & EPHEMERAL:
            channel = type(channel)(channel.id, channel.name)  # seen by one alone, and kept nowhere
        return self.guild.post(channel, self.guild.bot, body, uploads)

    async def _unsay(self, request: web.Request) -> None:
        webhook = self.guild.webhook(request.match_info["webhook"], request.match_info["token"])
        channel = self.guild.channel(webhook["channel_id"])
        self.guild.delete(channel, request.match_info["message"])

    async def _call_back(self, request: web.Request) -> Json:
        token, id = request.match_info["token"], request.match_info["id"]
        if token not in self.pending:
            raise Refusal(404, 10062, "Unknown interaction")
        body = await request.json()
        self.pending[token]["flags"] = (body.get("data") or {}).get("flags", 0)
        return {
            "interaction": {"id": id, "type": self.pending[token]["type"]},
            "resource": {"type": body["type"]},
        }

    async def _body(self, request: web.Request) -> tuple[Json, list[Upload]]:
        """Read what is sent, as JSON or as a form with files, and keep it as it came."""
        uploads: list[Upload] = []
        if request.content_type == "multipart/form-data":
            body: Json = {}
            async for part in await request.multipart():
                if isinstance(part, BodyPartReader):
                    data = bytes(await part.read())
                    if part.name == "payload_json":
                        body = msgspec.json.decode(data)
                    else:
                        uploads.append(Upload(part.filename or "", data))
        else:
            body = await request.json()
        self.guild.sent.append(body)
        return body, uploads

    async def _download(self, request: web.Request) -> web.Response:
        upload = self.guild.uploads[request.match_info["id"]]
        return web.Response(body=upload.data)


def _json(status: int, body: object, headers: dict[str, str]) -> web.Response:
    """Answer with exactly this type: clients compare it, and take anything else for text."""
    told = {**headers, "Via": "1.1 google", "Content-Type": "application/json"}
    return web.Response(status=status, body=msgspec.json.encode(body), headers=told)


def _refused(fault: Fault, headers: dict[str, str]) -> web.Response | None:
    match fault.kind:
        case "rate":
            body = {
                "message": "You are being rate limited.",
                "retry_after": fault.retry_after,
                "global": False,
            }
            return _json(429, body, {**headers, "X-RateLimit-Remaining": "0"})
        case "cloudflare":
            return web.Response(status=429, text="error code: 1015", headers={"Retry-After": "1"})
        case "broken":
            return _json(502, {"message": "Bad Gateway"}, {})
        case _:
            return None


def _lost(request: web.Request) -> web.Response:
    """Break the connection instead of answering."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()
