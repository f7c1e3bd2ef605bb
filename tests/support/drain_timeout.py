"""What is set in the process of a server before it starts, so that no test waits for a long time-out."""

from moot.cli import serve


def shorten_drain_timeout() -> None:
    """Let a server that ends wait only a moment for its runs."""
    assert serve.DRAIN_SECONDS > 1.0
    serve.DRAIN_SECONDS = 0.5
