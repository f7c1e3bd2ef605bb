import pytest

from moot.model.profiles import FileKind
from moot.providers.profiles import profile


@pytest.mark.parametrize(
    ("provider", "model", "files", "thinking"),
    [
        ("anthropic", "claude-sonnet-4-5", {"text", "image", "pdf"}, "budget"),
        ("anthropic", "claude-opus-4-1-20250805", {"text", "image", "pdf"}, "budget"),
        ("anthropic", "claude-sonnet-5", {"text", "image", "pdf"}, "effort"),
        ("google", "gemini-2.5-flash", {"text", "image", "pdf"}, "budget"),
        ("google", "gemini-3-flash", {"text", "image", "pdf"}, "effort"),
        ("openai", "gpt-5-mini", {"text", "image", "pdf"}, "effort"),
        ("openai", "gpt-3.5-turbo", {"text"}, "none"),
        ("local", "smollm2", {"text"}, "none"),
        ("lab", "anything", {"text", "image"}, "effort"),
    ],
)
def test_the_table(provider: str, model: str, files: set[FileKind], thinking: str) -> None:
    found = profile(provider, model)
    assert found.files == files
    assert found.thinking == thinking


def test_openai_s_own_models_have_their_own_word_for_the_limit() -> None:
    assert profile("openai", "gpt-5").max_tokens_field == "max_completion_tokens"
    assert profile("groq", "gpt-oss").max_tokens_field == "max_tokens"
