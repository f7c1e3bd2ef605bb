import pytest

from moot.model.profiles import FileKind
from moot.providers.profiles import profile


@pytest.mark.parametrize(
    ("api", "model", "files", "thinking"),
    [
        ("anthropic", "claude-sonnet-4-5", {"text", "image", "pdf"}, "budget"),
        ("anthropic", "claude-opus-4-1-20250805", {"text", "image", "pdf"}, "budget"),
        ("anthropic", "claude-sonnet-5", {"text", "image", "pdf"}, "effort"),
        ("google", "gemini-2.5-flash", {"text", "image", "pdf"}, "budget"),
        ("google", "gemini-3-flash", {"text", "image", "pdf"}, "effort"),
        ("openai", "gpt-5-mini", {"text", "image", "pdf"}, "effort"),
        ("openai", "gpt-3.5-turbo", {"text"}, "none"),
        ("local", "smollm2", {"text"}, "none"),
        ("openai", "anything", {"text", "image"}, "none"),
        ("openai", "openai/gpt-oss-20b", {"text"}, "effort"),
        ("openai", "anthropic/claude-sonnet-4-5", {"text", "image", "pdf"}, "effort"),
    ],
)
def test_the_table(api: str, model: str, files: set[FileKind], thinking: str) -> None:
    found = profile(api, model)
    assert found.files == files
    assert found.thinking == thinking


def test_openai_s_own_models_have_their_own_word_for_the_limit() -> None:
    assert profile("openai", "gpt-5").max_tokens_field == "max_completion_tokens"
    assert profile("openai", "llama3.2").max_tokens_field == "max_tokens"
