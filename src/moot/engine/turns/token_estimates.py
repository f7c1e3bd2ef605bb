"""Estimates usage that a provider did not report, and resolves context limits."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from moot.prompts.tokens import estimate_part_tokens, estimate_tokens
from moot.providers.registry import Registry
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.model_info import CHARACTERS_PER_TOKEN, ModelLimits, Profile, TokenCount
from moot.types.modes import WINDOWED_MODES
from moot.types.requests import ModelRequest

if TYPE_CHECKING:  # what is measured without a database needs none
    from moot.store.billing.token_rates import TokenRates
from moot.providers.registry import ResolvedModel


def estimate_usage(
    request: ModelRequest, output_characters: int, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Usage:
    """Guess by the characters that were sent and heard."""
    sent = estimate_tokens(request.system, characters_per_token) + sum(
        estimate_part_tokens(m.parts, characters_per_token) for m in request.messages
    )
    return Usage(input=sent, output=ceil(output_characters / characters_per_token), estimated=True)


def count_answer_tokens(turns: Iterable[Message]) -> dict[str, TokenCount]:
    """Add up the words of answers and the tokens that providers counted for them, by model.

    What was sent is left out: providers add much to it that nobody wrote.
    """
    found: dict[str, TokenCount] = {}
    for turn in turns:
        if turn.model is not None and (one := _count_answer(turn)) is not None:
            found[turn.model] = found.get(turn.model, TokenCount()) + one
    return found


def _count_answer(turn: Message) -> TokenCount | None:
    """Compare an answer with its count, unless that was guessed, or of more than its words: thoughts, or actions."""
    usage = turn.usage
    if usage is None or usage.estimated or turn.script or (turn.thoughts and not usage.reasoning):
        return None
    one = TokenCount(len(turn.content) + len(turn.details), usage.output - usage.reasoning)
    return one if one.is_plausible else None


class ContextLimits:
    """`fallback` says who may be asked instead of a model: what is sent has to fit all of them."""

    def __init__(
        self, rates: "TokenRates", registry: Registry, fallback: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._rates = rates
        self._registry = registry
        self._fallback = fallback

    async def limits_for_models(self, models: Collection[str], mode: str) -> dict[str, ModelLimits]:
        """Measure models, and those that may be asked instead; what is not known of any of them is left out."""
        asked = {name: [name, *self._fallback.get(name, ())] for name in models}
        rates = await self._rates.rates_by_model({name for names in asked.values() for name in names})
        measures = {
            name: ModelLimits(characters_per_token=rate.characters_per_token) for name, rate in rates.items()
        }
        if mode in WINDOWED_MODES:
            profiles = await asyncio.to_thread(self._load_profiles, asked)
            for name, found in profiles.items():
                rate = rates[name].characters_per_token if name in rates else CHARACTERS_PER_TOKEN
                measures[name] = combine_model_limits(found, rate)
        return {name: measure for name, measure in measures.items() if measure != ModelLimits()}

    def _load_profiles(self, models_with_fallbacks: Mapping[str, Sequence[str]]) -> dict[str, list[Profile]]:
        """Look models up in the list of prices, which is slow to load."""
        found = {
            name: [self._load_profile(one) for one in names] for name, names in models_with_fallbacks.items()
        }
        return {name: [one for one in some if one is not None] for name, some in found.items()}

    def _load_profile(self, model: str) -> Profile | None:
        provider, _, name = model.partition("/")
        try:
            return (
                self._registry.get_provider(provider).model_profile(name)
                if provider in self._registry
                else None
            )
        except UsageError:  # its turn will say so
            return None


def combine_model_limits(
    profiles: Sequence[Profile], characters_per_token: float = CHARACTERS_PER_TOKEN
) -> ModelLimits:
    """Measure a model by its profile and those of its fallbacks: the smallest must be able to hold it."""
    if not profiles:
        return ModelLimits(characters_per_token=characters_per_token)
    contexts = [one.context for one in profiles if one.context is not None]
    answer = profiles[0].default_max_tokens
    return ModelLimits(
        characters_per_token=characters_per_token, context=min(contexts, default=None), answer=answer
    )


PROMPT_CHARS_CEILING = 200_000  # characters, however large the window


def max_prompt_chars(chain: Sequence[ResolvedModel]) -> int:
    """Count a character a token of the smallest window, which is safe in any script."""
    windows = [one.provider.model_profile(one.model).context for one in chain]
    return min([PROMPT_CHARS_CEILING, *(window for window in windows if window is not None)])
