from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moot.providers.catalog import ProviderConfig
from moot.providers.embeddings import HttpEmbedder, resolve_embedder
from moot.providers.registry import Registry
from moot.types.errors import ProviderError, UnknownModel
from tests.support.provider_turns import API_KEY

MODEL_NAME = "near/nomic"
REVERSED_RESPONSE = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1.0, 0.5], "object": "x"}]}


class FakeEmbeddingServer:
    """An OpenAI-compatible server that answers every call for embeddings in the same way."""

    def __init__(self, answer: object, status: int = 200) -> None:
        self._answer = answer
        self._status = status
        self.requests: list[tuple[str, object]] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append((request.headers.get("Authorization", ""), msgspec.json.decode(await request.read())))
        body = self._answer if isinstance(self._answer, bytes) else msgspec.json.encode(self._answer)
        return web.Response(body=body, status=self._status, content_type="application/json")


@asynccontextmanager
async def serve_embedder(server: FakeEmbeddingServer, key: str = "") -> AsyncIterator[HttpEmbedder]:
    app = web.Application()
    app.router.add_post("/v1/embeddings", server.handle)
    async with TestServer(app) as served:
        config = ProviderConfig(api="openai", base_url=str(served.make_url("")), key_env="NEAR_KEY")
        async with Registry({"near": config}, {"NEAR_KEY": key}) as registry:
            yield resolve_embedder(MODEL_NAME, registry)


async def test_embedder_returns_vectors_in_order_of_texts() -> None:
    server = FakeEmbeddingServer(REVERSED_RESPONSE)
    async with serve_embedder(server) as near:
        assert near.name == MODEL_NAME
        assert await near.embed(["a", "b"]) == [[1.0, 0.5], [0, 1]]
    assert server.requests == [("", {"model": "nomic", "input": ["a", "b"]})]


async def test_embedder_sends_key_when_given() -> None:
    server = FakeEmbeddingServer(REVERSED_RESPONSE)
    async with serve_embedder(server, API_KEY) as near:
        await near.embed(["a", "b"])
    assert server.requests[0][0] == f"Bearer {API_KEY}"


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"",
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]},
        b"[" * 100_000,
    ],
)
async def test_embedder_raises_provider_error_for_invalid_response(answer: object) -> None:
    async with serve_embedder(FakeEmbeddingServer(answer)) as near:
        with pytest.raises(ProviderError, match="near returned invalid embeddings"):
            await near.embed(["a", "b"])


async def test_embedder_error_redacts_key() -> None:
    async with serve_embedder(
        FakeEmbeddingServer({"error": {"message": f"bad key {API_KEY}"}}, status=401), API_KEY
    ) as near:
        with pytest.raises(ProviderError, match="Key rejected for near") as error:
            await near.embed(["a"])
    assert error.value.fault.kind == "auth"
    assert API_KEY not in str(error.value)


async def test_embedder_raises_provider_error_when_server_is_down() -> None:
    async with serve_embedder(FakeEmbeddingServer(REVERSED_RESPONSE)) as near:
        pass
    with pytest.raises(ProviderError, match="Is it running"):
        await near.embed(["a"])
    await near._transport.aclose()


@pytest.mark.parametrize("name", ["nomic", "near/", "nowhere/nomic", "scripted/echo"])
async def test_resolve_embedder_rejects_unknown_model_name(name: str) -> None:
    async with Registry({}, {}) as registry:
        with pytest.raises(UnknownModel, match="provider/model"):
            resolve_embedder(name, registry)
