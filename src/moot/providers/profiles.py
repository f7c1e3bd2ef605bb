"""Model profiles (features, context window) and prices.

Prices and context windows come from `genai-prices`. The package is slow to import, so it is imported at first use.
An unknown price or context window is None, never zero.
"""

from fnmatch import fnmatchcase
from functools import cache

from moot.types.chunks import Usage
from moot.types.model_info import FileKind, Profile

TEXT_ONLY: frozenset[FileKind] = frozenset({"text"})
TEXT_AND_IMAGES: frozenset[FileKind] = frozenset({"text", "image"})
TEXT_IMAGES_AND_PDF: frozenset[FileKind] = frozenset({"text", "image", "pdf"})

REASONING_PROFILE = Profile(
    files=TEXT_IMAGES_AND_PDF, thinking="effort", temperature=False, max_tokens_field="max_completion_tokens"
)
# `api:model` patterns. The first match counts, so special models come before the general pattern.
PROFILES_BY_PATTERN: tuple[tuple[str, Profile], ...] = (
    ("local:*", Profile(files=TEXT_ONLY, tools=False)),
    ("scripted:*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort")),
    ("anthropic:claude-[0-2]*", Profile(files=TEXT_ONLY, json_schema=False, default_max_tokens=4096)),
    ("anthropic:claude-3-7*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="budget", json_schema=False)),
    ("anthropic:claude-3*", Profile(files=TEXT_IMAGES_AND_PDF, json_schema=False, default_max_tokens=4096)),
    ("anthropic:claude-*-4-[01]*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="budget", json_schema=False)),
    ("anthropic:claude-*-4-20*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="budget", json_schema=False)),
    ("anthropic:claude-*-4-5*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="budget", default_max_tokens=16384)),
    ("anthropic:claude-*-4-6*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort", default_max_tokens=16384)),
    (
        "anthropic:claude-*",
        Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort", temperature=False, default_max_tokens=16384),
    ),
    ("anthropic:*", Profile(files=TEXT_AND_IMAGES)),
    ("google:gemini-2.5*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="budget")),
    ("google:gemini-[12].*", Profile(files=TEXT_IMAGES_AND_PDF)),
    ("google:gemini-*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort")),
    ("google:*", Profile(files=TEXT_AND_IMAGES, tools=False, json_schema=False)),
    ("openai:gpt-oss*", Profile(files=TEXT_ONLY, thinking="effort")),
    ("openai:gpt-3*", Profile(files=TEXT_ONLY, json_schema=False)),
    ("openai:gpt-4*", Profile(files=TEXT_IMAGES_AND_PDF, max_tokens_field="max_completion_tokens")),
    ("openai:gpt-*", REASONING_PROFILE),
    ("openai:o[1-9]*", REASONING_PROFILE),
    ("openai:claude-*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort")),
    ("openai:gemini-*", Profile(files=TEXT_IMAGES_AND_PDF, thinking="effort")),
    ("openai:grok-*", Profile(files=TEXT_AND_IMAGES, thinking="effort")),
    ("openai:deepseek-*", Profile(files=TEXT_ONLY, json_schema=False)),
    ("*", Profile(files=TEXT_AND_IMAGES)),
)


def find_profile(api: str, model: str) -> Profile:
    """Find the profile by pattern. A vendor prefix in the model name, such as `openai/gpt-5`, is ignored."""
    name = f"{api}:{model.rpartition('/')[2]}"
    return next(row for pattern, row in PROFILES_BY_PATTERN if fnmatchcase(name, pattern))


def call_cost_usd(base_url: str, model: str, usage: Usage) -> float | None:
    """Return the cost of a call, or None. The base URL identifies the provider, whose prices differ."""
    import genai_prices  # noqa: PLC0415 - slow to import, needed only after a response

    try:
        tokens = genai_prices.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cached,
            cache_write_tokens=usage.cache_written,
        )
        price = genai_prices.calc_price(tokens, model_ref=model, provider_api_url=base_url)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


@cache
def context_window(base_url: str, model: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - as above

    try:
        _, info = get_snapshot().find_provider_model(model, None, None, base_url)
    except LookupError:
        return None
    return info.context_window
