"""The HTTP API of the fake Discord, with rate limit buckets, error responses and injected faults.

It has only the routes that the bot uses.
"""

from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
from aiohttp import BodyPartReader, web

from moot.testing.discord.faults import FaultInjector, InjectedFault, RateLimitBuckets
from moot.testing.discord.guild import DiscordApiError, FakeGuild, Json, Upload

RestHandler = Callable[[web.Request], Awaitable[object]]

API_PATH = "/api/v10"
EPHEMERAL_FLAG = 64
MAJOR_PARAMETERS = ("channel", "webhook", "token")


class FakeRestApi:
    """Each handler returns a value for the JSON response. None is status 204."""

    def __init__(self, guild: FakeGuild, token: str) -> None:
        self.guild = guild
        self.faults = FaultInjector()
        self.buckets = RateLimitBuckets()
        self.registered_commands: list[Json] = []
        self.pending_interactions: dict[str, Json] = {}  # by interaction token
        self.command_replies: list[Json] = []
        self.request_log: list[str] = []  # method and path of all requests
        self._token = token

    def make_routes(self) -> list[web.RouteDef]:
        handlers: list[tuple[str, str, RestHandler]] = [
            ("GET", "/users/@me", self._get_bot_user),
            ("GET", "/oauth2/applications/@me", self._get_application),
            ("PUT", "/applications/{application}/commands", self._register_commands),
            ("GET", "/channels/{channel}", self._get_channel),
            ("GET", "/channels/{channel}/messages", self._list_messages),
            ("POST", "/channels/{channel}/messages", self._send_message),
            ("GET", "/channels/{channel}/messages/{message}", self._get_message),
            ("PATCH", "/channels/{channel}/messages/{message}", self._edit_message),
            ("DELETE", "/channels/{channel}/messages/{message}", self._delete_message),
            ("POST", "/channels/{channel}/typing", self._start_typing),
            ("GET", "/channels/{channel}/webhooks", self._list_webhooks),
            ("POST", "/channels/{channel}/webhooks", self._create_webhook),
            ("POST", "/webhooks/{webhook}/{token}", self._execute_webhook),
            ("DELETE", "/webhooks/{webhook}/{token}/messages/{message}", self._delete_webhook_message),
            ("POST", "/interactions/{id}/{token}/callback", self._answer_interaction),
        ]
        routes = [
            web.route(method, API_PATH + path, self._wrap_handler(path, handler)) for method, path, handler in handlers
        ]
        return [*routes, web.get("/attachments/{id}/{name}", self._download_attachment)]

    def _wrap_handler(self, path: str, handler: RestHandler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            request_line = f"{request.method} {request.path.removeprefix(API_PATH)}"
            self.request_log.append(request_line)
            major = " ".join(request.match_info.get(name, "") for name in MAJOR_PARAMETERS)
            allowed, headers = self.buckets.count_request(f"{request.method} {path}", major)
            fault = self.faults.take_fault(request_line)
            if fault is None and not allowed:
                fault = InjectedFault(request_line, "rate", retry_after=float(headers["X-RateLimit-Reset-After"]))
            if fault is not None and (error_response := _fault_response(fault, headers)) is not None:
                return error_response
            reply = await self._call_handler(request, handler, headers)
            if fault is None:
                return reply
            if fault.kind == "lost" and request.transport is not None:
                request.transport.close()
            return _json_response(502, {"message": "Bad Gateway"}, {})

        return handle

    async def _call_handler(self, request: web.Request, handler: RestHandler, headers: dict[str, str]) -> web.Response:
        needs_token = not request.path.startswith((f"{API_PATH}/webhooks", f"{API_PATH}/interactions"))
        if needs_token and request.headers.get("Authorization") != f"Bot {self._token}":
            return _json_response(401, {"message": "401: Unauthorized", "code": 0}, headers)
        try:
            reply = await handler(request)
        except DiscordApiError as error:
            return _json_response(error.status, {"message": str(error), "code": error.code}, headers)
        return web.Response(status=204, headers=headers) if reply is None else _json_response(200, reply, headers)

    async def _get_bot_user(self, _: web.Request) -> Json:
        return self.guild.bot

    async def _get_application(self, _: web.Request) -> Json:
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

    async def _register_commands(self, request: web.Request) -> list[Json]:
        self.registered_commands = [
            {"id": self.guild.new_id(), "application_id": self.guild.bot["id"], "version": "1", **command}
            for command in cast("list[Json]", await request.json())
        ]
        return self.registered_commands

    async def _get_channel(self, request: web.Request) -> Json:
        return self.guild.channel_json(self.guild.get_channel(request.match_info["channel"]))

    async def _list_messages(self, request: web.Request) -> list[Json]:
        channel = self.guild.get_channel(request.match_info["channel"])
        after = int(request.query.get("after", 0))
        before = int(request.query.get("before", 2**63))
        messages = [one for one in channel.messages if after < int(one["id"]) < before]
        limit = int(request.query.get("limit", 50))
        return (messages[:limit] if after else messages[-limit:])[::-1]

    async def _get_message(self, request: web.Request) -> Json:
        channel = self.guild.get_channel(request.match_info["channel"])
        return self.guild.get_message(channel, request.match_info["message"])

    async def _send_message(self, request: web.Request) -> Json:
        channel = self.guild.get_channel(request.match_info["channel"])
        body, uploads = await self._read_body(request)
        return self.guild.post_message(channel, self.guild.bot, body, uploads)

    async def _edit_message(self, request: web.Request) -> Json:
        message = await self._get_message(request)
        body, _ = await self._read_body(request)
        return self.guild.edit_message(message, body)

    async def _delete_message(self, request: web.Request) -> None:
        channel = self.guild.get_channel(request.match_info["channel"])
        self.guild.delete_message(channel, request.match_info["message"])

    async def _start_typing(self, request: web.Request) -> None:
        self.guild.get_channel(request.match_info["channel"]).typing_count += 1

    async def _list_webhooks(self, request: web.Request) -> list[Json]:
        channel = self.guild.get_channel(request.match_info["channel"])
        if not channel.webhooks_allowed:
            raise DiscordApiError(403, 50013, "Missing Permissions")
        return [one for one in self.guild.webhooks.values() if one["channel_id"] == channel.id]

    async def _create_webhook(self, request: web.Request) -> Json:
        channel = self.guild.get_channel(request.match_info["channel"])
        return self.guild.add_webhook(channel, (await request.json())["name"])

    async def _execute_webhook(self, request: web.Request) -> Json:
        """Post a webhook message. Replies to commands use the same route, with the interaction token."""
        body, uploads = await self._read_body(request)
        pending = self.pending_interactions.get(request.match_info["token"])
        if pending is None:
            webhook = self.guild.get_webhook(request.match_info["webhook"], request.match_info["token"])
            return self.guild.post_as_webhook(webhook, body, uploads)
        self.command_replies.append({"content": body.get("content", ""), "files": [one.name for one in uploads]})
        channel = self.guild.channels[pending["channel_id"]]
        if (int(pending["flags"]) | int(body.get("flags") or 0)) & EPHEMERAL_FLAG:
            channel = type(channel)(channel.id, channel.name)  # ephemeral: not stored in the real channel
        return self.guild.post_message(channel, self.guild.bot, body, uploads)

    async def _delete_webhook_message(self, request: web.Request) -> None:
        webhook = self.guild.get_webhook(request.match_info["webhook"], request.match_info["token"])
        channel = self.guild.get_channel(webhook["channel_id"])
        self.guild.delete_message(channel, request.match_info["message"])

    async def _answer_interaction(self, request: web.Request) -> Json:
        token, id = request.match_info["token"], request.match_info["id"]
        if token not in self.pending_interactions:
            raise DiscordApiError(404, 10062, "Unknown interaction")
        body = await request.json()
        self.pending_interactions[token]["flags"] = (body.get("data") or {}).get("flags", 0)
        return {
            "interaction": {"id": id, "type": self.pending_interactions[token]["type"]},
            "resource": {"type": body["type"]},
        }

    async def _read_body(self, request: web.Request) -> tuple[Json, list[Upload]]:
        """Parse a JSON or multipart body, and record it."""
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
        self.guild.request_bodies.append(body)
        return body, uploads

    async def _download_attachment(self, request: web.Request) -> web.Response:
        upload = self.guild.uploads[request.match_info["id"]]
        return web.Response(body=upload.data)


def _json_response(status: int, body: object, headers: dict[str, str]) -> web.Response:
    """Set exactly `application/json`: clients compare the header and parse any other value as text."""
    all_headers = {**headers, "Via": "1.1 google", "Content-Type": "application/json"}
    return web.Response(status=status, body=msgspec.json.encode(body), headers=all_headers)


def _fault_response(fault: InjectedFault, headers: dict[str, str]) -> web.Response | None:
    match fault.kind:
        case "rate":
            body = {"message": "You are being rate limited.", "retry_after": fault.retry_after, "global": False}
            return _json_response(429, body, {**headers, "X-RateLimit-Remaining": "0"})
        case "cloudflare":
            return web.Response(status=429, text="error code: 1015", headers={"Retry-After": "1"})
        case "broken":
            return _json_response(502, {"message": "Bad Gateway"}, {})
        case _:
            return None
