"""Tables of the library: personas, projects, presets, knowledge, evaluations."""

from sqlalchemy import Column, Index, Integer, LargeBinary, Table, Text

from moot.store.schema.columns import (
    Json,
    Strings,
    foreign_key,
    key_column,
    metadata,
    mode_option_columns,
    sequence_columns,
    text_columns,
    time_column,
)
from moot.types.evaluations import Improvement, Verdict
from moot.types.participants import Participant

persona = Table(
    "persona",
    metadata,
    key_column(),
    foreign_key("tenant"),
    Column("name", Text, nullable=False),
    *text_columns("description", "system_prompt", default=""),
    Column("traits", Json(Strings), nullable=False),
    Column("specialisations", Json(Strings), nullable=False),
    *text_columns("category", "colour", default=""),
    time_column(),
    Index(None, "tenant"),
)

persona_usage = Table(  # usage counts; a shipped persona has no row in `persona`
    "persona_usage",
    metadata,
    foreign_key("tenant", primary_key=True),
    key_column("persona"),
    Column("uses", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
)

project = Table(
    "project",
    metadata,
    key_column(),
    foreign_key("tenant"),
    Column("name", Text, nullable=False),
    *text_columns("description", "repository", default=""),
    time_column(),
    Index(None, "tenant"),
)

post = Table(
    "post",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("project"),
    Column("title", Text, nullable=False),
    *text_columns("excerpt", default=""),
    time_column("published_at", nullable=True),
    time_column(),
    Index(None, "project", "published_at"),
)

discussion_summary = Table(  # summary of a discussion, for discussions that reference it
    "discussion_summary",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("discussion"),
    Column("points", Json(Strings), nullable=False),
    Column("messages", Integer, nullable=False),  # number of messages it covers
    Column("model", Text, nullable=False),
    time_column(),
    Index(None, "discussion", "created_at"),
)

evaluation = Table(  # evaluation of an answer: assertions, verdicts, improvements
    "evaluation",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("message"),
    Column("judge", Text, nullable=False),
    Column("assertions", Json(Strings), nullable=False),
    Column("verdicts", Json(tuple[Verdict, ...]), nullable=False),
    Column("improvement", Json(Improvement), nullable=True),
    time_column(),
    time_column("applied_at", nullable=True),
    Index(None, "message"),
)

preset = Table(  # preset: participants, mode and options
    "preset",
    metadata,
    key_column(),
    foreign_key("tenant"),
    *text_columns("name", "mode"),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("task_model", Text, nullable=True),
    *mode_option_columns(),
    time_column(),
    Index(None, "tenant"),
)

insight = Table(
    "insight",
    metadata,
    *sequence_columns(),
    foreign_key("tenant"),
    foreign_key("discussion"),
    foreign_key("project", nullable=True, on_delete="SET NULL"),
    *text_columns("kind", "title", "detail", "category"),
    *text_columns("suggestion", "severity", "answers_insight", nullable=True),
    Column("messages", Json(Strings), nullable=False),
    time_column(),
    Index(None, "discussion"),
    Index(None, "project"),
)

consolidation = Table(
    "consolidation",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("project"),
    *text_columns("status", "model"),
    Column("fault", Text, nullable=True),
    time_column(),
    time_column("ended_at", nullable=True),
    Index(None, "project", "id"),
)

pattern = Table(
    "pattern",
    metadata,
    key_column(),
    foreign_key("tenant"),
    foreign_key("consolidation"),
    *text_columns("kind", "title", "description"),
    Column("evidence", Json(Strings), nullable=False),
    Column("frequency", Integer, nullable=False),
    Column("severity", Text, nullable=True),
    Column("tags", Json(Strings), nullable=False),
    Index(None, "consolidation"),
)

insight_vector = Table(  # embedding of an insight, one per model
    "insight_vector",
    metadata,
    foreign_key("insight", primary_key=True),
    key_column("model"),
    Column("vector", LargeBinary, nullable=False),  # 32-bit floats, normalized to length 1
)
