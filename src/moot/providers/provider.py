"""The `Provider` protocol, which every source of models implements."""

from collections.abc import AsyncGenerator
from typing import Protocol

from moot.types.chunks import Chunk, Usage
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

ChunkStream = AsyncGenerator[list[Chunk], None]


class Provider(Protocol):
    """A source of models, such as an HTTP API or the embedded model."""

    @property
    def name(self) -> str: ...

    def check_model(self, model: str) -> None:
        """Raise a UsageError if it is known before a request that this model cannot answer."""
        ...

    def model_profile(self, model: str) -> Profile: ...

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        """Return the cost of a call; None if the price is unknown."""
        ...

    def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        """Yield a list of chunks for each read. The last chunk of the stream is a `Done` or a `Failed`.

        Errors are `Failed` chunks; only cancellation is raised. Closing the generator stops the generation.
        """
        ...

    async def list_models(self, key: str | None = None) -> list[str]: ...

    async def aclose(self) -> None: ...
