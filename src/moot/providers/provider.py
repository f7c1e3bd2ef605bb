"""The seam itself."""

from collections.abc import AsyncGenerator
from typing import Protocol

from moot.types.chunks import Chunk, Usage
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

ChunkStream = AsyncGenerator[list[Chunk], None]


class Provider(Protocol):
    """A source of models.

    `stream` yields what each read of its source brought, as a list. The last chunk of all is a `Done` or a
    `Failed`, and nothing but cancellation is raised. Closing the generator ends the generation at once.
    """

    @property
    def name(self) -> str: ...

    def check_model(self, model: str) -> None:
        """Raise a UsageError where it is plain beforehand that this model cannot answer."""
        ...

    def model_profile(self, model: str) -> Profile: ...

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        """Price a call in US dollars; None where nobody knows."""
        ...

    def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream: ...

    async def list_models(self, key: str | None = None) -> list[str]: ...

    async def aclose(self) -> None: ...
