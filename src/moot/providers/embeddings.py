"""Embeddings: texts as vectors that lie close together where they mean the same."""

from collections.abc import Sequence
from typing import Annotated, Protocol

import aiohttp
import msgspec
from msgspec import Meta, Struct

from moot.providers import errors
from moot.providers.keys import KeyRing
from moot.providers.openai import OpenAIWire
from moot.providers.registry import Registry
from moot.providers.transport import MAX_LISTING, Body, Transport, mapped_errors, proxy_for
from moot.types.errors import ProviderError, UnknownModel
from moot.types.faults import fault

SECONDS = 30.0


class Embedder(Protocol):
    """`name` tells whose vectors these are: those of two models cannot be compared."""

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Make a vector of every text, or raise a ProviderError."""
        ...


class Entry(Struct):
    index: int
    embedding: Annotated[list[float], Meta(min_length=1)]


class Listing(Struct):
    data: list[Entry]


_listings = msgspec.json.Decoder(Listing)


class HttpEmbedder:
    """A model behind `POST /embeddings`, as OpenAI, Ollama, LM Studio, llama.cpp and vLLM serve it."""

    def __init__(self, name: str, base_url: str, keys: KeyRing, transport: Transport) -> None:
        self.name = name
        self._who, _, self._model = name.partition("/")
        self._url = f"{base_url}/embeddings"
        self._keys = keys
        self._transport = transport

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        body = await self._post(msgspec.json.encode({"model": self._model, "input": list(texts)}))
        try:
            entries = sorted(_listings.decode(body).data, key=lambda entry: entry.index)
        except (msgspec.DecodeError, RecursionError):
            entries = []
        if [entry.index for entry in entries] != list(range(len(texts))):
            raise ProviderError(fault("bad_response", f"{self._who} gave no embeddings that can be read."))
        return [entry.embedding for entry in entries]

    async def _post(self, body: bytes) -> bytes:
        key = self._keys.next(set())
        secret = key.secret if key else None
        with mapped_errors(self._who):
            async with self._transport.session.post(
                self._url,
                data=body,
                headers=OpenAIWire().headers(secret),
                timeout=aiohttp.ClientTimeout(total=SECONDS),
                allow_redirects=False,
                proxy=proxy_for(self._url),
            ) as response:
                answer = await Body(response).whole(MAX_LISTING)
                if response.status != 200:
                    raise ProviderError(
                        errors.from_response(self._who, response.status, response.headers, answer, secret)
                    )
                return answer


def embedder(name: str, registry: Registry) -> HttpEmbedder:
    """Find the embedding model that the settings name, such as `ollama/nomic-embed-text`."""
    provider, _, model = name.partition("/")
    base_url = registry.base_url(provider)
    if not model or not base_url:
        raise UnknownModel(
            f"Unknown embedding model {name!r}: write provider/model, such as ollama/nomic-embed-text."
        )
    return HttpEmbedder(name, base_url, registry.keys(provider), registry.transport)
