"""Tables of runs: event log, lanes, approvals, analysis results, workers."""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, Table, Text

from moot.store.schema.columns import (
    Json,
    Number,
    Strings,
    foreign_key,
    key_column,
    metadata,
    text_columns,
    time_column,
)
from moot.types.run_plan import RunPlan

run = Table(
    "run",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("discussion"),
    Column("message", Text, nullable=True),
    Column("mode", Text, nullable=False),
    Column("plan", Json(RunPlan), nullable=False),
    Column("status", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),  # fencing token, one higher with each lease
    Column("stop_reason", Text, nullable=True),  # reason to stop the run, once requested
    Column("stopped_participants", Json(Strings), nullable=True),  # ids of participants to stop
    Column("worker", Text, nullable=True),
    Column("position", Number, nullable=False, server_default="0"),  # order of runs: `seq` of the user message
    Column("account", Text, nullable=True),  # started it and pays for it
    Column("revision", Integer, nullable=False, server_default="0"),  # number of retries
    Column("running_revision", Integer, nullable=False, server_default="0"),  # the revision being executed
    Column("retries", Json(dict[str, int]), nullable=True),  # participant id: revision that retries it
    Column("reserved_usd", Float(53), nullable=True),  # US dollars; counts while the run is live
    Column("regenerates", Text, nullable=True),  # id of the answer that this run regenerates
    time_column(),
    time_column("ended_at", nullable=True),
    Index(None, "account", "status"),
    Index(None, "discussion", "id"),
    Index(None, "tenant", "status"),
    Index(None, "status", "worker"),
)

run_event = Table(
    "run_event",
    metadata,
    foreign_key("run", primary_key=True),
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

approval = Table(  # approval of a tool call with side effects; the key is the call id
    "approval",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("discussion"),
    foreign_key("run"),
    *text_columns("participant", "stage"),
    Column("round", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("decision", Text, nullable=True),  # decision; None while pending
    Column("account", Text, nullable=True),  # the account that decided
    Column("started", Boolean, nullable=False),  # the call has started
    Column("attempt", Text, nullable=False),  # changes when the turn restarts
    time_column(),
    Index(None, "run"),
    Index(None, "discussion", "tool"),
)

lane = Table(  # progress of one participant in a debate
    "lane",
    metadata,
    foreign_key("run", primary_key=True),
    key_column("participant"),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=True),
    Column("late", Boolean, nullable=False),
)

analysis_result = Table(  # analysis results by cache key, and notices: JSON of their events
    "analysis_result",
    metadata,
    foreign_key("run", primary_key=True),
    key_column("cache_key"),
    Column("body", Text, nullable=False),
)

worker = Table(
    "worker",
    metadata,
    key_column(),
    Column("heartbeats", BigInteger, nullable=False),  # number of heartbeats
    Column("successor", Text, nullable=True),  # id of the worker that takes over; its own id after it left
    time_column(),
)
