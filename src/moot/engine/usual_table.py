"""Who sits at a table where nobody says who does."""

from collections.abc import AsyncIterator, Sequence
from itertools import cycle, islice

from moot.engine.casting import Casting
from moot.model.errors import MissingKey, Unavailable, UsageError
from moot.providers.discovery import local_servers
from moot.providers.registry import Registry

SEATS = 3


class UsualTable:
    """The line-up of the settings; or else their model; or else the usual models of those providers that can be asked.

    Without any of them it is what runs on this machine.
    """

    def __init__(
        self, casting: Casting, registry: Registry, line_up: Sequence[str], model: str | None
    ) -> None:
        self._casting = casting
        self._registry = registry
        self._named = tuple(line_up) or ((model,) if model else ())

    async def models(self, tenant: str, *, alone: bool) -> tuple[str, ...]:
        """Name the models, or the one that sits there alone; where there is but one, it has several seats."""
        found = self._named or await self._found(tenant)
        if alone:
            return found[:1]
        return found if len(found) > 1 else tuple(islice(cycle(found), SEATS))

    async def _found(self, tenant: str) -> tuple[str, ...]:
        if usual := [model async for model in self._with_a_key(tenant)][:SEATS]:
            return tuple(usual)
        for server in await local_servers(self._registry):
            if server.models:
                return (f"{server.provider}/{server.models[0]}",)
        try:
            return (self._registry.resolve(self._registry.embedded_model()).name,)
        except Unavailable as error:
            raise UsageError(
                f"model: there is none to ask. Name some in line_up of the settings, or store a key. {error}"
            ) from error

    async def _with_a_key(self, tenant: str) -> AsyncIterator[str]:
        for name in self._registry:
            if cheap := self._registry.cheap_model(name):
                try:
                    yield (await self._casting.models(tenant, f"{name}/{cheap}"))[0].name
                except MissingKey:
                    continue
