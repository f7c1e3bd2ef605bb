from moot.model.chunks import Usage
from moot.providers.prices import context_window, cost

ANTHROPIC = "https://api.anthropic.com/v1"


def test_known_models_have_a_price_that_grows_with_tokens() -> None:
    little = cost(ANTHROPIC, "claude-sonnet-4-5", Usage(1000, 100))
    much = cost(ANTHROPIC, "claude-sonnet-4-5", Usage(2000, 200))
    assert little is not None
    assert much is not None
    assert 0 < little < much


def test_cached_tokens_cost_less() -> None:
    plain = cost(ANTHROPIC, "claude-sonnet-4-5", Usage(1000, 0))
    cached = cost(ANTHROPIC, "claude-sonnet-4-5", Usage(1000, 0, cached=900))
    assert plain is not None
    assert cached is not None
    assert cached < plain


def test_what_is_not_known_is_unknown_and_not_free() -> None:
    assert cost(ANTHROPIC, "no-such-model", Usage(1000, 100)) is None
    assert cost("http://127.0.0.1:9999/v1", "claude-sonnet-4-5", Usage(1000, 100)) is None
    assert context_window("http://127.0.0.1:9999/v1", "x") is None


def test_context_sizes() -> None:
    assert context_window("https://api.openai.com/v1", "gpt-4o-mini") == 128_000
