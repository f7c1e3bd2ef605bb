"""Estimates of token usage that a provider did not report, and context limits of models."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from moot.prompts.tokens import estimate_part_tokens, estimate_tokens
from moot.providers.registry import Registry
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.model_info import CHARACTERS_PER_TOKEN, ModelLimits, Profile, TokenCount
from moot.types.modes import MODES
from moot.types.requests import ModelRequest

if TYPE_CHECKING:  # runs without a database do not import it
    from moot.store.billing.usage import TokenRates
from moot.providers.registry import ResolvedModel


def estimate_usage(
    request: ModelRequest, output_characters: int, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Usage:
    """Estimate tokens by the number of characters in the request and the answer."""
    sent = estimate_tokens(request.system, characters_per_token) + sum(
        estimate_part_tokens(m.parts, characters_per_token) for m in request.messages
    )
    return Usage(input=sent, output=ceil(output_characters / characters_per_token), estimated=True)


def count_answer_tokens(turns: Iterable[Message]) -> dict[str, TokenCount]:
    """Sum the characters and reported tokens of answers, by model.

    Input tokens are left out, because providers add hidden text to a request.
    """
    found: dict[str, TokenCount] = {}
    for turn in turns:
        if turn.model is not None and (one := _count_answer(turn)) is not None:
            found[turn.model] = found.get(turn.model, TokenCount()) + one
    return found


def _count_answer(turn: Message) -> TokenCount | None:
    """Return None if the tokens are estimated, or include reasoning or actions, which have no stored text."""
    usage = turn.usage
    if usage is None or usage.estimated or turn.lesson_items or (turn.thoughts and not usage.reasoning):
        return None
    one = TokenCount(len(turn.content) + len(turn.details), usage.output - usage.reasoning)
    return one if one.is_plausible else None


class ContextLimits:
    """`fallback` lists fallback models by model. A request must fit the context of all of them."""

    def __init__(self, rates: "TokenRates", registry: Registry, fallback: Mapping[str, tuple[str, ...]]) -> None:
        self._rates = rates
        self._registry = registry
        self._fallback = fallback

    async def limits_for_models(self, models: Collection[str], mode: str) -> dict[str, ModelLimits]:
        """Return limits by model. Models without any known limit are left out."""
        with_fallbacks = {name: [name, *self._fallback.get(name, ())] for name in models}
        rates = await self._rates.rates_by_model({name for names in with_fallbacks.values() for name in names})
        limits = {name: ModelLimits(characters_per_token=rate.characters_per_token) for name, rate in rates.items()}
        if MODES[mode].private_threads:
            profiles = await asyncio.to_thread(self._load_profiles, with_fallbacks)
            for name, found in profiles.items():
                rate = rates[name].characters_per_token if name in rates else CHARACTERS_PER_TOKEN
                limits[name] = combine_model_limits(found, rate)
        return {name: limit for name, limit in limits.items() if limit != ModelLimits()}

    def _load_profiles(self, models_with_fallbacks: Mapping[str, Sequence[str]]) -> dict[str, list[Profile]]:
        """Blocking: loads the price list from disk."""
        return {
            name: [profile for one in names if (profile := self._registry.find_profile(one))]
            for name, names in models_with_fallbacks.items()
        }


def combine_model_limits(
    profiles: Sequence[Profile], characters_per_token: float = CHARACTERS_PER_TOKEN
) -> ModelLimits:
    """Combine the profiles of a model and its fallbacks; the smallest context counts."""
    if not profiles:
        return ModelLimits(characters_per_token=characters_per_token)
    contexts = [one.context for one in profiles if one.context is not None]
    answer = profiles[0].default_max_tokens
    return ModelLimits(
        characters_per_token=characters_per_token, context_tokens=min(contexts, default=None), max_answer_tokens=answer
    )


PROMPT_CHARS_CEILING = 200_000  # upper limit, even for a larger context


def max_prompt_chars(chain: Sequence[ResolvedModel]) -> int:
    """Return the smallest context of the chain, with one character per token, which is safe in any script."""
    windows = [one.provider.model_profile(one.model).context for one in chain]
    return min([PROMPT_CHARS_CEILING, *(window for window in windows if window is not None)])
