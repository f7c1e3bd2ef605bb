"""What is known of models when a run starts: how they count and, where a mode has to fit into it, what they can hold."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from moot.model.errors import UsageError
from moot.model.measures import CHARACTERS_PER_TOKEN, Measure
from moot.model.modes import WINDOWED
from moot.model.profiles import Profile
from moot.providers.registry import Registry

if TYPE_CHECKING:  # what is measured without a database needs none
    from moot.store.token_rates import TokenRates


class Measuring:
    """`fallback` says who may be asked instead of a model: what is sent has to fit all of them."""

    def __init__(
        self, rates: "TokenRates", registry: Registry, fallback: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._rates = rates
        self._registry = registry
        self._fallback = fallback

    async def of(self, models: Collection[str], mode: str) -> dict[str, Measure]:
        """Measure models, and those that may be asked instead; what is not known of any of them is left out."""
        asked = {name: [name, *self._fallback.get(name, ())] for name in models}
        rates = await self._rates.of({name for names in asked.values() for name in names})
        measures = {
            name: Measure(characters_per_token=rate.characters_per_token) for name, rate in rates.items()
        }
        if mode in WINDOWED:
            profiles = await asyncio.to_thread(self._profiles, asked)
            for name, found in profiles.items():
                rate = rates[name].characters_per_token if name in rates else CHARACTERS_PER_TOKEN
                measures[name] = measured(found, rate)
        return {name: measure for name, measure in measures.items() if measure != Measure()}

    def _profiles(self, asked: Mapping[str, Sequence[str]]) -> dict[str, list[Profile]]:
        """Look models up in the list of prices, which is slow to load."""
        found = {name: [self._profile(one) for one in names] for name, names in asked.items()}
        return {name: [one for one in some if one is not None] for name, some in found.items()}

    def _profile(self, model: str) -> Profile | None:
        provider, _, name = model.partition("/")
        try:
            return self._registry.provider(provider).profile(name) if provider in self._registry else None
        except UsageError:  # its turn will say so
            return None


def measured(profiles: Sequence[Profile], rate: float = CHARACTERS_PER_TOKEN) -> Measure:
    """Measure a model by its profile and those of its fallbacks: the smallest must be able to hold it."""
    if not profiles:
        return Measure(characters_per_token=rate)
    contexts = [one.context for one in profiles if one.context is not None]
    answer = profiles[0].default_max_tokens
    return Measure(characters_per_token=rate, context=min(contexts, default=None), answer=answer)
