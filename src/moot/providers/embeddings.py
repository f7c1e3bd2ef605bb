"""Embedding models: texts to vectors, for semantic search."""

from collections.abc import Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct

from moot.providers.keys import KeyRing
from moot.providers.openai import OpenAIWireFormat
from moot.providers.registry import Registry
from moot.providers.transport import Transport
from moot.types.errors import ProviderError, UnknownModel
from moot.types.faults import make_fault

EMBED_TIMEOUT_SECONDS = 30.0


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """The model name. Store it with the vectors: vectors of two models are not comparable."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in the same order. Raises ProviderError."""
        ...


class EmbeddingEntry(Struct):
    index: int
    embedding: Annotated[list[float], Meta(min_length=1)]


class EmbeddingList(Struct):
    data: list[EmbeddingEntry]


_embedding_list_decoder = msgspec.json.Decoder(EmbeddingList)


class HttpEmbedder:
    """Client for `POST /embeddings`, as served by OpenAI, Ollama, LM Studio, llama.cpp and vLLM."""

    def __init__(self, name: str, base_url: str, keys: KeyRing, transport: Transport) -> None:
        self.name = name
        self._provider_name, _, self._model = name.partition("/")
        self._url = f"{base_url}/embeddings"
        self._keys = keys
        self._transport = transport

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        key = self._keys.select_key(set())
        secret = key.secret if key else None
        headers = OpenAIWireFormat().request_headers(secret)
        request = msgspec.json.encode({"model": self._model, "input": list(texts)})
        body = await self._transport.fetch_body(
            self._provider_name, self._url, headers, secret, post=request, timeout_seconds=EMBED_TIMEOUT_SECONDS
        )
        try:
            entries = sorted(_embedding_list_decoder.decode(body).data, key=lambda entry: entry.index)
        except (msgspec.DecodeError, RecursionError):
            entries = []
        if [entry.index for entry in entries] != list(range(len(texts))):
            raise ProviderError(make_fault("bad_response", f"{self._provider_name} returned invalid embeddings."))
        return [entry.embedding for entry in entries]


def resolve_embedder(name: str, registry: Registry) -> HttpEmbedder:
    """Create the client for `provider/model`. Raises UnknownModel."""
    provider, _, model = name.partition("/")
    base_url = registry.provider_base_url(provider)
    if not model or not base_url:
        raise UnknownModel(f"Unknown embedding model {name!r}: write provider/model, such as ollama/nomic-embed-text.")
    return HttpEmbedder(name, base_url, registry.server_keys(provider), registry.transport)
