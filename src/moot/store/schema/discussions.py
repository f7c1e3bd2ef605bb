"""Tables of discussions, messages and files."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from moot.store.schema.columns import (
    Json,
    Number,
    Strings,
    foreign_key,
    key_column,
    metadata,
    mode_option_columns,
    sequence_columns,
    text_columns,
    time_column,
)
from moot.types.chunks import Usage
from moot.types.faults import Fault
from moot.types.participants import Participant
from moot.types.tools import ToolUse

discussion = Table(
    "discussion",
    metadata,
    *sequence_columns(),
    foreign_key("tenant"),
    foreign_key("account", nullable=True, on_delete="SET NULL"),
    *text_columns("title", "status", "mode"),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("persona", Text, nullable=True),
    foreign_key("project", nullable=True, on_delete="SET NULL"),
    *text_columns("language", "model", "task_model", nullable=True),
    *mode_option_columns(),
    Column("summary", Text, nullable=True),
    Column("usefulness", Float(53), nullable=True),
    time_column("exported_at", nullable=True),
    time_column(),
    time_column("updated_at"),
    Index("ix_discussion_newest", "tenant", "updated_at", "id"),
    Index(None, "project"),
)

message = Table(
    "message",
    metadata,
    *sequence_columns(),
    Column("position", Number, nullable=False),  # that of its run, so that runs never interleave
    foreign_key("tenant"),
    foreign_key("discussion"),
    foreign_key("run", nullable=True),
    *text_columns("role", "content"),
    *text_columns("participant", "name", "stage", nullable=True),
    Column("round", Integer, nullable=False, server_default="0"),
    Column("status", Text, nullable=False),
    *text_columns("thoughts", "details", default=""),
    *text_columns("provider", "model", nullable=True),
    Column("usage", Json(Usage), nullable=True),
    Column("cost_usd", Float(53), nullable=True),
    Column("latency_seconds", Float(53), nullable=True),
    Column("first_token_seconds", Float(53), nullable=True),
    Column("fault", Json(Fault), nullable=True),
    Column("finish_reason", Text, nullable=True),  # finish reason of the model
    Column("visible_to", Json(Strings), nullable=True),  # ids of participants that may see it; None: all
    Column("thread", Text, nullable=True),  # id of the participant with this private thread; None: main thread
    Column("files", Json(Strings), nullable=True),
    Column("hidden", Boolean, nullable=False),  # instructions, which models see and users do not
    Column("view", Text, nullable=True),  # these three columns allow to rebuild the prompt of an answer
    Column("visible_until", Number, nullable=True),
    Column("instructions", Text, nullable=True),
    Column("lesson_items", Text, nullable=True),  # JSON array of text and action objects
    Column("tools", Json(tuple[ToolUse, ...]), nullable=True),  # tool calls of the turn
    Column("version_of", Text, nullable=True),  # id of the first version, which this one replaces
    Column("copy_of", Text, nullable=True),  # id of the earlier version that a user selected again
    time_column(),
    UniqueConstraint("run", "stage", "round", "participant"),
    Index(None, "version_of"),
    Index(None, "discussion", "position", "seq"),
)

blob = Table(  # file contents, stored once per hash
    "blob",
    metadata,
    foreign_key("tenant", primary_key=True),
    key_column("sha256"),
    Column("data", LargeBinary, nullable=False),
)

file = Table(
    "file",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("account", nullable=True, on_delete="SET NULL"),
    *text_columns("name", "media_type"),
    Column("size", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    time_column(),
    Index(None, "tenant", "sha256"),
)
