"""Tables of the library: personas, projects, presets, knowledge, evaluations."""

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, Table, Text

from moot.store.schema.columns import (
    Json,
    Strings,
    foreign_key,
    id_column,
    metadata,
    sequence_columns,
    tenant_column,
    text_column,
    time_column,
)
from moot.types.evaluations import Improvement, Verdict
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import Participant

persona = Table(
    "persona",
    metadata,
    id_column(),
    tenant_column(),
    Column("name", Text, nullable=False),
    text_column("description"),
    text_column("system_prompt"),
    Column("traits", Json(Strings), nullable=False),
    Column("specialisations", Json(Strings), nullable=False),
    text_column("category"),
    text_column("colour"),
    time_column(),
    Index(None, "tenant"),
)

persona_usage = Table(  # usage counts; a shipped persona has no row in `persona`
    "persona_usage",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("persona", Text, primary_key=True),
    Column("uses", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
)

project = Table(
    "project",
    metadata,
    id_column(),
    tenant_column(),
    Column("name", Text, nullable=False),
    text_column("description"),
    text_column("repository"),
    time_column(),
    Index(None, "tenant"),
)

post = Table(
    "post",
    metadata,
    id_column(),
    tenant_column(),
    foreign_key("project"),
    Column("title", Text, nullable=False),
    text_column("excerpt"),
    time_column("published_at", nullable=True),
    time_column(),
    Index(None, "project", "published_at"),
)

discussion_summary = Table(  # summary of a discussion, for discussions that reference it
    "discussion_summary",
    metadata,
    id_column(),
    tenant_column(),
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
    id_column(),
    tenant_column(),
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
    id_column(),
    tenant_column(),
    Column("name", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("task_model", Text, nullable=True),
    Column("debate", Json(DebateOptions), nullable=True),
    Column("advisors", Json(AdvisorOptions), nullable=True),
    Column("directed", Json(DirectedOptions), nullable=True),
    time_column(),
    Index(None, "tenant"),
)

insight = Table(
    "insight",
    metadata,
    *sequence_columns(),
    tenant_column(),
    foreign_key("discussion"),
    foreign_key("project", nullable=True, on_delete="SET NULL"),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("suggestion", Text, nullable=True),
    Column("severity", Text, nullable=True),
    Column("answers_insight", Text, nullable=True),
    Column("messages", Json(Strings), nullable=False),
    time_column(),
    Index(None, "discussion"),
    Index(None, "project"),
)

consolidation = Table(
    "consolidation",
    metadata,
    id_column(),
    tenant_column(),
    foreign_key("project"),
    Column("status", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("fault", Text, nullable=True),
    time_column(),
    time_column("ended_at", nullable=True),
    Index(None, "project", "id"),
)

pattern = Table(
    "pattern",
    metadata,
    id_column(),
    tenant_column(),
    foreign_key("consolidation"),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("evidence", Json(Strings), nullable=False),
    Column("frequency", Integer, nullable=False),
    Column("severity", Text, nullable=True),
    Column("tags", Json(Strings), nullable=False),
    Index(None, "consolidation"),
)

insight_vector = Table(  # embedding of an insight, one per model
    "insight_vector",
    metadata,
    Column("insight", Text, ForeignKey("insight.id", ondelete="CASCADE"), primary_key=True),
    Column("model", Text, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # 32-bit floats, normalized to length 1
)
