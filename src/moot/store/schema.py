"""Database schema. Rows of users belong to a tenant, and every query filters by it."""

from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from moot.types.chunks import Usage
from moot.types.evaluations import Improvement, Verdict
from moot.types.faults import Fault
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan
from moot.types.tools import ToolUse


class Json(TypeDecorator[Any]):
    """A column that stores a value as JSON text and validates its type when it is read."""

    impl = Text
    cache_ok = True

    def __init__(self, type_: Any) -> None:
        super().__init__()
        self.type_ = type_
        self._decode = msgspec.json.Decoder(type_).decode

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's
        return None if value is None else self._decode(value)

    def coerce_compared_value(self, op: object, value: object) -> Any:  # noqa: ARG002 - SQLAlchemy's
        return self.impl


Strings = tuple[str, ...]
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite autoincrements only INTEGER columns

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id_column() -> Column[str]:
    return Column("id", Text, primary_key=True)


def _sequence_columns() -> tuple[Column[int], Column[str]]:
    """Return the public `id`, and a `number` that orders rows and keys the full-text index."""
    return (
        Column("number", Number, primary_key=True, autoincrement=True),
        Column("id", Text, nullable=False, unique=True),
    )


def _foreign_key(table: str, *, nullable: bool = False, on_delete: str = "CASCADE", name: str = "") -> Column[str]:
    """Reference a row of another table. Deleting that row deletes this one, or with SET NULL clears the column."""
    return Column(name or table, Text, ForeignKey(f"{table}.id", ondelete=on_delete), nullable=nullable)


def _tenant_column() -> Column[str]:
    return _foreign_key("tenant")


def _text_column(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def _time_column(name: str = "created_at", *, nullable: bool = False) -> Column[float]:
    return Column(name, Float(53), nullable=nullable)


tenant = Table("tenant", metadata, _id_column(), Column("name", Text, nullable=False), _time_column())

account = Table(
    "account",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("name", Text, nullable=False, unique=True),
    Column("password", Text, nullable=True),  # argon2 hash; None: cannot log in
    Column("budget", Float(53), nullable=True),  # US dollars per week; None: the default limit
    _time_column(),
)

session = Table(
    "session",
    metadata,
    Column("hash", Text, primary_key=True),
    _foreign_key("account"),
    _time_column(),
    _time_column("expires_at"),
    Index(None, "account"),
)

token = Table(
    "token",
    metadata,
    _id_column(),
    _foreign_key("account"),
    Column("hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    _time_column(),
    Index(None, "account"),
)

provider_key = Table(
    "provider_key",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("origin", Text, nullable=False),  # the only server that may receive the key
    Column("sealed", LargeBinary, nullable=False),  # encrypted key
    _time_column(),
)

tool_server = Table(
    "tool_server",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # encrypted headers
    _time_column(),
)

persona = Table(
    "persona",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("name", Text, nullable=False),
    _text_column("description"),
    _text_column("system_prompt"),
    Column("traits", Json(Strings), nullable=False),
    Column("specialisations", Json(Strings), nullable=False),
    _text_column("category"),
    _text_column("colour"),
    _time_column(),
    Index(None, "tenant"),
)

persona_use = Table(  # usage counts; a shipped persona has no row in `persona`
    "persona_use",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("persona", Text, primary_key=True),
    Column("uses", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
)

project = Table(
    "project",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("name", Text, nullable=False),
    _text_column("description"),
    _text_column("repository"),
    _time_column(),
    Index(None, "tenant"),
)

post = Table(
    "post",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("project"),
    Column("title", Text, nullable=False),
    _text_column("excerpt"),
    _time_column("published_at", nullable=True),
    _time_column(),
    Index(None, "project", "published_at"),
)

discussion = Table(
    "discussion",
    metadata,
    *_sequence_columns(),
    _tenant_column(),
    _foreign_key("account", nullable=True, on_delete="SET NULL"),
    Column("title", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("persona", Text, nullable=True),
    _foreign_key("project", nullable=True, on_delete="SET NULL"),
    Column("language", Text, nullable=True),
    Column("model", Text, nullable=True),
    Column("clerk", Text, nullable=True),
    Column("debate", Json(DebateOptions), nullable=True),
    Column("advisors", Json(AdvisorOptions), nullable=True),
    Column("directed", Json(DirectedOptions), nullable=True),
    Column("summary", Text, nullable=True),
    Column("usefulness", Float(53), nullable=True),
    _time_column("exported_at", nullable=True),
    _time_column(),
    _time_column("updated_at"),
    Index("ix_discussion_newest", "tenant", "updated_at", "id"),
    Index(None, "project"),
)

run = Table(
    "run",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("discussion"),
    Column("message", Text, nullable=True),
    Column("mode", Text, nullable=False),
    Column("plan", Json(RunPlan), nullable=False),
    Column("status", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),  # fencing token, one higher with each lease
    Column("stop", Text, nullable=True),  # reason to stop the run, once requested
    Column("stopped", Json(Strings), nullable=True),  # ids of participants to stop
    Column("worker", Text, nullable=True),
    Column("place", Number, nullable=False, server_default="0"),  # order of runs: number of the user message
    Column("account", Text, nullable=True),  # started it and pays for it
    Column("revision", Integer, nullable=False, server_default="0"),  # number of retries
    Column("begun", Integer, nullable=False, server_default="0"),  # the revision being executed
    Column("retried", Json(dict[str, int]), nullable=True),  # participant id: revision that retries it
    Column("reserved", Float(53), nullable=True),  # US dollars; counts while the run is live
    Column("again", Text, nullable=True),  # id of the answer that this run regenerates
    _time_column(),
    _time_column("ended_at", nullable=True),
    Index(None, "account", "status"),
    Index(None, "discussion", "id"),
    Index(None, "tenant", "status"),
    Index(None, "status", "worker"),
)

run_event = Table(
    "run_event",
    metadata,
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

message = Table(
    "message",
    metadata,
    *_sequence_columns(),
    Column("place", Number, nullable=False),  # that of its run, so that runs never interleave
    _tenant_column(),
    _foreign_key("discussion"),
    _foreign_key("run", nullable=True),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("participant", Text, nullable=True),
    Column("name", Text, nullable=True),
    Column("stage", Text, nullable=True),
    Column("round", Integer, nullable=False, server_default="0"),
    Column("status", Text, nullable=False),
    _text_column("thoughts"),
    _text_column("details"),
    Column("provider", Text, nullable=True),
    Column("model", Text, nullable=True),
    Column("usage", Json(Usage), nullable=True),
    Column("cost", Float(53), nullable=True),
    Column("latency", Float(53), nullable=True),
    Column("first_token", Float(53), nullable=True),
    Column("fault", Json(Fault), nullable=True),
    Column("finish", Text, nullable=True),  # finish reason of the model
    Column("audience", Json(Strings), nullable=True),  # ids of participants that may see it; None: all
    Column("thread", Text, nullable=True),  # id of the participant with this private thread; None: main thread
    Column("files", Json(Strings), nullable=True),
    Column("hidden", Boolean, nullable=False),  # instructions, which models see and users do not
    Column("view", Text, nullable=True),  # these three columns allow to rebuild the prompt of an answer
    Column("upto", Number, nullable=True),
    Column("instruction", Text, nullable=True),
    Column("script", Text, nullable=True),  # JSON array of text and action objects
    Column("tools", Json(tuple[ToolUse, ...]), nullable=True),  # tool calls of the turn
    Column("version_of", Text, nullable=True),  # id of the first version, which this one replaces
    Column("copy_of", Text, nullable=True),  # id of the earlier version that a user selected again
    _time_column(),
    UniqueConstraint("run", "stage", "round", "participant"),
    Index(None, "version_of"),
    Index(None, "discussion", "place", "number"),
)

permission = Table(  # approval of a tool call with side effects; the key is the call id
    "permission",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("discussion"),
    _foreign_key("run"),
    Column("participant", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("answer", Text, nullable=True),  # decision; None while pending
    Column("account", Text, nullable=True),  # the account that decided
    Column("begun", Boolean, nullable=False),  # the call has started
    Column("attempt", Text, nullable=False),  # changes when the turn restarts
    _time_column(),
    Index(None, "run"),
    Index(None, "discussion", "tool"),
)

lane = Table(  # progress of one participant in a debate
    "lane",
    metadata,
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("participant", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=True),
    Column("late", Boolean, nullable=False),
)

finding = Table(  # analysis results by cache key, and notices: JSON of their events
    "finding",
    metadata,
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("basis", Text, primary_key=True),
    Column("body", Text, nullable=False),
)

blob = Table(  # file contents, stored once per hash
    "blob",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

file = Table(
    "file",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("account", nullable=True, on_delete="SET NULL"),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    _time_column(),
    Index(None, "tenant", "sha256"),
)

token_rate = Table(  # counts reported by providers, to estimate tokens
    "token_rate",
    metadata,
    Column("model", Text, primary_key=True),
    Column("characters", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

recap = Table(  # summary of a discussion, for discussions that reference it
    "recap",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("discussion"),
    Column("points", Json(Strings), nullable=False),
    Column("messages", Integer, nullable=False),  # number of messages it covers
    Column("model", Text, nullable=False),
    _time_column(),
    Index(None, "discussion", "created_at"),
)

trial = Table(  # evaluation of an answer: assertions, verdicts, improvements
    "trial",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("message"),
    Column("judge", Text, nullable=False),
    Column("assertions", Json(Strings), nullable=False),
    Column("verdicts", Json(tuple[Verdict, ...]), nullable=False),
    Column("rounds", Json(Improvement), nullable=True),
    _time_column(),
    _time_column("accepted_at", nullable=True),
    Index(None, "message"),
)

charge = Table(  # cost of model calls, one row per turn; stays when the discussion is deleted
    "charge",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("account", Text, nullable=True),
    Column("discussion", Text, nullable=True),
    Column("run", Text, nullable=True),
    Column("participant", Text, nullable=True),
    Column("purpose", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("usage", Json(Usage), nullable=False),
    Column("cost", Float(53), nullable=True),
    _time_column(),
    Index(None, "account", "created_at"),
    Index(None, "run"),
)

reup = Table(  # a week whose budget was reset, and when
    "reup",
    metadata,
    Column("account", Text, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("week", Float(53), primary_key=True),
    _time_column(),
)

line_up = Table(  # preset: participants, mode and options
    "line_up",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("name", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("clerk", Text, nullable=True),
    Column("debate", Json(DebateOptions), nullable=True),
    Column("advisors", Json(AdvisorOptions), nullable=True),
    Column("directed", Json(DirectedOptions), nullable=True),
    _time_column(),
    Index(None, "tenant"),
)

insight = Table(
    "insight",
    metadata,
    *_sequence_columns(),
    _tenant_column(),
    _foreign_key("discussion"),
    _foreign_key("project", nullable=True, on_delete="SET NULL"),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("suggestion", Text, nullable=True),
    Column("severity", Text, nullable=True),
    Column("paired", Text, nullable=True),
    Column("messages", Json(Strings), nullable=False),
    _time_column(),
    Index(None, "discussion"),
    Index(None, "project"),
)

consolidation = Table(
    "consolidation",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("project"),
    Column("status", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("fault", Text, nullable=True),
    _time_column(),
    _time_column("ended_at", nullable=True),
    Index(None, "project", "id"),
)

pattern = Table(
    "pattern",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("consolidation"),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("evidence", Json(Strings), nullable=False),
    Column("frequency", Integer, nullable=False),
    Column("severity", Text, nullable=True),
    Column("tags", Json(Strings), nullable=False),
    Index(None, "consolidation"),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),  # hash of the request, to reject a reused key
    Column("reply", Text, nullable=False),  # JSON; empty until the request is done
    _time_column(),
    Index(None, "created_at"),
)

rate = Table(
    "rate",
    metadata,
    Column("name", Text, primary_key=True),
    _time_column("free_at"),  # when the bucket is full again
)

worker = Table(
    "worker",
    metadata,
    _id_column(),
    Column("beats", BigInteger, nullable=False),  # number of heartbeats
    Column("reaper", Text, nullable=True),  # id of the worker that takes over; its own id after it left
    _time_column(),
)

installation = Table(  # key and value pairs, such as the fingerprint of the secret
    "installation",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

insight_vector = Table(  # embedding of an insight, one per model
    "insight_vector",
    metadata,
    Column("insight", Text, ForeignKey("insight.id", ondelete="CASCADE"), primary_key=True),
    Column("model", Text, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # 32-bit floats, normalized to length 1
)

channel = Table(  # Discord channel and the discussion bound to it
    "channel",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("guild", Text, nullable=False),
    _foreign_key("discussion", nullable=True, on_delete="SET NULL"),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("trouble", Text, nullable=True),  # why sending is disabled; None: it is not
    _time_column(),
    Index(None, "tenant"),
    Index(None, "discussion"),
)

channel_message = Table(  # queue: received in a channel, not sent to the discussion yet
    "channel_message",
    metadata,
    _id_column(),
    _foreign_key("channel"),
    _time_column(),
    Index(None, "channel"),
)

channel_run = Table(  # delivery progress of a run in a channel
    "channel_run",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, nullable=False),  # last delivered event
    Column("message", Text, nullable=True),  # id of the Discord message that it answers
    Column("author", Text, nullable=True),
    Index(None, "run"),
)

channel_post = Table(  # Discord message with a part of a run
    "channel_post",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("message", Text, nullable=True),  # Discord id; None until the response arrives
    Index(None, "run"),
)

channel_memory = Table(  # summary of older messages in a channel, per participant
    "channel_memory",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("participant", Text, primary_key=True),
    Column("words", Text, nullable=False),
    Column("discussions", Json(tuple[str, ...]), nullable=False),
    _time_column("upto"),  # time of the newest message that it covers
    _time_column(),
)
