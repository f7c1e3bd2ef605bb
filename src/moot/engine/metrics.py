"""What is counted: runs, turns, tokens, times, and how the log keeps up. Never what was said, never who said it."""

from prometheus_client import Counter, Gauge, Histogram

from moot.model.events import TurnEnded

RUNS = Counter("moot_runs", "Runs that ended.", ["mode", "status"])
TURNS = Counter("moot_turns", "Turns that ended.", ["provider", "status"])
TOKENS = Counter("moot_tokens", "Tokens that providers counted.", ["provider", "direction"])
COST = Counter("moot_cost_dollars", "What the turns cost, where the price is known.", ["provider"])
FIRST_TOKEN = Histogram(
    "moot_first_token_seconds",
    "From asking to the first token.",
    ["provider"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32),
)
LIVE_RUNS = Gauge("moot_live_runs", "Runs that this process executes.")
READERS = Gauge("moot_event_readers", "Streams of runs that are open in this process.")
WRITTEN = Counter("moot_events_written", "Events written to the log.")
WRITING = Histogram(
    "moot_log_write_seconds",
    "What it took to write a batch of events.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)


def count_turn(ended: TurnEnded) -> None:
    provider = ended.model.partition("/")[0]
    TURNS.labels(provider, ended.status).inc()
    TOKENS.labels(provider, "input").inc(ended.usage.input)
    TOKENS.labels(provider, "output").inc(ended.usage.output)
    if ended.cost:
        COST.labels(provider).inc(ended.cost)
    if ended.first_token is not None:
        FIRST_TOKEN.labels(provider).observe(ended.first_token)
