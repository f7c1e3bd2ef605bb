from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from moot.engine.turns.token_estimates import (
    PROMPT_CHARS_CEILING,
    ContextLimits,
    combine_model_limits,
    count_answer_tokens,
    estimate_usage,
    max_prompt_chars,
)
from moot.providers.catalog import ProviderConfig
from moot.providers.keys import KeyRing
from moot.providers.registry import Registry, ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.store.billing.usage import TokenRates
from moot.store.database import Database
from moot.types.chunks import ToolCall, Usage
from moot.types.discussions import Message
from moot.types.model_info import ModelLimits, Profile, TokenCount
from moot.types.requests import File, ModelRequest, ToolResult, assistant_message, user_message
from tests.support.databases import open_migrated_database


def test_estimate_usage_counts_four_characters_per_token() -> None:
    request = ModelRequest(model="x", system="12345678", messages=(user_message("1234"), assistant_message("123")))
    usage = estimate_usage(request, 5)
    assert (usage.input, usage.output, usage.estimated) == (2 + 1 + 1, 2, True)


def test_estimate_usage_counts_files_and_tool_parts() -> None:
    parts = (File("a", "image/png", b"x"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "12345678"))
    assert estimate_usage(ModelRequest(model="x", messages=(user_message(*parts),)), 0).input == 1000 + 1 + 2


def test_estimate_usage_uses_given_characters_per_token() -> None:
    request = ModelRequest(model="x", system="12345678", messages=(user_message("1234"),))
    usage = estimate_usage(request, 5, 2.0)
    assert (usage.input, usage.output) == (4 + 2, 3)


def answer_message(text: str, usage: Usage | None, model: str | None = "a/one", **more: str) -> Message:
    return Message(
        id="m",
        discussion="d",
        role="assistant",
        content=text,
        usage=usage,
        model=model,
        **more,  # type: ignore[arg-type]
    )


def test_count_answer_tokens_sums_characters_and_tokens_by_model() -> None:
    turns = [
        answer_message("x" * 30, Usage(999, 10)),
        answer_message("x" * 10, Usage(1, 10), details="x" * 5),
        answer_message("x" * 12, Usage(1, 4), "b/two"),
    ]
    assert count_answer_tokens(turns) == {"a/one": TokenCount(45, 20), "b/two": TokenCount(12, 4)}


def test_count_answer_tokens_excludes_thoughts() -> None:
    assert count_answer_tokens([answer_message("x" * 30, Usage(1, 110, reasoning=100), thoughts="Well.")]) == {
        "a/one": TokenCount(30, 10)
    }


@pytest.mark.parametrize(
    "turn",
    [
        answer_message("x" * 40, Usage(1, 10, estimated=True)),
        answer_message("x" * 40, None),
        answer_message("x" * 40, Usage(1, 10), None),
        answer_message("x" * 40, Usage(1, 90), thoughts="Nobody says how many tokens these were."),
        answer_message("", Usage(1, 10)),
        answer_message("x" * 40, Usage()),
        answer_message("x" * 400, Usage(1, 1)),
        answer_message("x", Usage(1, 400)),
    ],
    ids=["guessed", "unknown", "nobody's", "thoughts", "empty", "nothing", "too few", "too many"],
)
def test_count_answer_tokens_skips_unreliable_messages(turn: Message) -> None:
    assert count_answer_tokens([turn]) == {}


def test_count_answer_tokens_skips_lesson_turns() -> None:
    turn = Message(
        id="msg_1",
        discussion="dis_1",
        role="assistant",
        content="Look. " * 20,
        model="a/one",
        usage=Usage(1, 60),
        lesson_items="[]",
    )
    assert count_answer_tokens([turn]) == {}


INCOMPLETE_CONFIG = ProviderConfig(base_url="http://127.0.0.1:9/v1")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database("sqlite", tmp_path) as database:
        await TokenRates(database).add_counts({"openai/gpt-4o": TokenCount(300_000, 100_000)})
        yield database


def create_context_limits(database: Database, **fallback: tuple[str, ...]) -> ContextLimits:
    others = {name.replace("__", "/"): models for name, models in fallback.items()}
    return ContextLimits(TokenRates(database), Registry({"vague": INCOMPLETE_CONFIG}, {}), others)


async def test_limits_for_models_omits_models_without_token_counts(database: Database) -> None:
    assert (
        await create_context_limits(database).limits_for_models(["scripted/echo", "openai/gpt-4o-mini"], "single") == {}
    )


async def test_limits_for_models_returns_learned_characters_per_token(database: Database) -> None:
    found = await create_context_limits(database).limits_for_models(["openai/gpt-4o"], "single")
    assert found == {"openai/gpt-4o": ModelLimits(characters_per_token=3.005)}


async def test_limits_for_models_includes_context_window_when_mode_needs_it(database: Database) -> None:
    found = await create_context_limits(database).limits_for_models(["openai/gpt-4o", "local/demo"], "advisors")
    assert found["openai/gpt-4o"] == ModelLimits(characters_per_token=3.005, context_tokens=128_000)
    assert found["local/demo"].context_tokens is not None
    assert found["local/demo"].context_tokens < 10_000


async def test_limits_for_models_uses_smallest_window_of_fallbacks(database: Database) -> None:
    wide = await create_context_limits(database).limits_for_models(["openai/gpt-4o"], "advisors")
    narrow = await create_context_limits(database, openai__gpt_4o=()).limits_for_models(["openai/gpt-4o"], "advisors")
    assert wide == narrow
    both = ContextLimits(TokenRates(database), Registry({}, {}), {"openai/gpt-4o": ("local/demo",)})
    found = (await both.limits_for_models(["openai/gpt-4o"], "advisors"))["openai/gpt-4o"]
    assert (
        found.context_tokens == (await both.limits_for_models(["local/demo"], "advisors"))["local/demo"].context_tokens
    )


async def test_limits_for_models_ignores_missing_or_invalid_provider(database: Database) -> None:
    assert await create_context_limits(database).limits_for_models(["gone/model", "vague/model"], "advisors") == {}


def test_combine_model_limits_uses_smallest_window_and_first_answer_limit() -> None:
    profiles = [Profile(default_max_tokens=100), Profile(context=9000), Profile(context=5000)]
    assert combine_model_limits(profiles, 2.0) == ModelLimits(
        characters_per_token=2.0, context_tokens=5000, max_answer_tokens=100
    )
    assert combine_model_limits([]) == ModelLimits()


class WindowedProvider(ScriptedProvider):
    """Scripted models whose names are the sizes of their context windows."""

    def model_profile(self, model: str) -> Profile:
        return replace(super().model_profile(model), context=int(model) if model.isdigit() else None)


def resolve_windows(*models: str) -> list[ResolvedModel]:
    return [ResolvedModel(f"scripted/{one}", WindowedProvider(Scripts()), one, KeyRing(())) for one in models]


def test_max_prompt_chars_uses_smallest_window_of_models() -> None:
    assert max_prompt_chars(resolve_windows("8192", "4096", "unknown")) == 4096


def test_max_prompt_chars_has_ceiling_when_window_is_unknown() -> None:
    assert max_prompt_chars(resolve_windows("unknown")) == PROMPT_CHARS_CEILING


def test_max_prompt_chars_never_exceeds_ceiling() -> None:
    assert max_prompt_chars(resolve_windows("2000000")) == PROMPT_CHARS_CEILING
