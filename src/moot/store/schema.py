"""The tables. Every row that a person makes belongs to a tenant, and every query asks for it."""

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
from moot.types.debate import DebateOptions
from moot.types.evaluations import Improvement, Verdict
from moot.types.faults import Fault
from moot.types.modes import AdvisorOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan
from moot.types.tools import ToolUse


class Json(TypeDecorator[Any]):
    """A value as JSON text, checked against its type on the way out."""

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
Number = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER counts by itself in SQLite

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
    """An id for the world, and a number for what orders or indexes rows."""
    return (
        Column("number", Number, primary_key=True, autoincrement=True),
        Column("id", Text, nullable=False, unique=True),
    )


def _foreign_key(
    table: str, *, nullable: bool = False, on_delete: str = "CASCADE", name: str = ""
) -> Column[str]:
    """Point to a row of another table; when that row goes, this one goes or forgets it."""
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
    Column("password", Text, nullable=True),  # an argon2 hash; None cannot log in
    Column("budget", Float(53), nullable=True),  # US dollars a week; None is no limit
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
    Column("origin", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    _time_column(),
)

tool_server = Table(
    "tool_server",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # its headers
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

persona_use = Table(  # by persona, which may be a shipped one that is in no table
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
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("stop", Text, nullable=True),  # why the whole run is to end
    Column("stopped", Json(Strings), nullable=True),  # participants that are to end
    Column("worker", Text, nullable=True),
    Column("place", Number, nullable=False, server_default="0"),
    Column("account", Text, nullable=True),  # who started it, and pays for it
    Column("revision", Integer, nullable=False, server_default="0"),  # how often something of it was retried
    Column("begun", Integer, nullable=False, server_default="0"),  # the revision that is being executed
    Column("retried", Json(dict[str, int]), nullable=True),  # participants, and the revision they are due in
    Column("reserved", Float(53), nullable=True),  # US dollars of the budget, while it goes on
    Column("again", Text, nullable=True),  # the answer of which it makes another version
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
    Column("place", Number, nullable=False),  # the number of what its run answers to: runs never interleave
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
    Column("finish", Text, nullable=True),  # why its model ended it
    Column("audience", Json(Strings), nullable=True),
    Column("thread", Text, nullable=True),  # the participant whose own thread it is in; None is the main one
    Column("files", Json(Strings), nullable=True),
    Column("hidden", Boolean, nullable=False),
    Column("view", Text, nullable=True),
    Column("upto", Number, nullable=True),
    Column("instruction", Text, nullable=True),
    Column("script", Text, nullable=True),  # speech and actions as an array
    Column("tools", Json(tuple[ToolUse, ...]), nullable=True),  # calls that were made for it
    Column("version_of", Text, nullable=True),  # the answer instead of which it stands from its number on
    Column("copy_of", Text, nullable=True),  # the earlier version that was chosen again
    _time_column(),
    UniqueConstraint("run", "stage", "round", "participant"),
    Index(None, "version_of"),
    Index(None, "discussion", "place", "number"),
)

permission = Table(  # of a call with effects, by its id: whether it may be made, and whether it was begun
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
    Column("answer", Text, nullable=True),  # None while it is waited for
    Column("account", Text, nullable=True),  # who gave it
    Column("begun", Boolean, nullable=False),
    Column("attempt", Text, nullable=False),  # to take the turn: one that begins anew is another
    _time_column(),
    Index(None, "run"),
    Index(None, "discussion", "tool"),
)

lane = Table(  # one participant's way through a debate
    "lane",
    metadata,
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("participant", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=True),
    Column("late", Boolean, nullable=False),
)

finding = Table(  # what was found out in a run, by what it rests on, and what was told of it: the events that did so
    "finding",
    metadata,
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("basis", Text, primary_key=True),
    Column("body", Text, nullable=False),
)

blob = Table(  # what is in files, once for all files with the same content
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

token_rate = Table(  # what providers counted, to correct guesses by
    "token_rate",
    metadata,
    Column("model", Text, primary_key=True),
    Column("characters", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

recap = Table(  # what a discussion came to, for others that refer to it
    "recap",
    metadata,
    _id_column(),
    _tenant_column(),
    _foreign_key("discussion"),
    Column("points", Json(Strings), nullable=False),
    Column("messages", Integer, nullable=False),  # how many it covers
    Column("model", Text, nullable=False),
    _time_column(),
    Index(None, "discussion", "created_at"),
)

trial = Table(  # what somebody asserts of an answer, how it was judged, and what it was improved to
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

charge = Table(  # what calls of models cost, a turn's attempts as one; it outlives the discussion, because it was paid
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

reup = Table(  # a week whose budget was begun anew, and when
    "reup",
    metadata,
    Column("account", Text, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("week", Float(53), primary_key=True),
    _time_column(),
)

line_up = Table(  # who sits at a table and how they speak, kept to be used again
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
    Column("request", Text, nullable=False),  # a hash of what was asked, so that a key is not used twice
    Column("reply", Text, nullable=False),
    _time_column(),
    Index(None, "created_at"),
)

rate = Table(
    "rate",
    metadata,
    Column("name", Text, primary_key=True),
    _time_column("free_at"),
)

worker = Table(
    "worker",
    metadata,
    _id_column(),
    Column("beats", BigInteger, nullable=False),
    Column("reaper", Text, nullable=True),
    _time_column(),
)

installation = Table(
    "installation",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

insight_vector = Table(  # what an embedding model makes of an insight; another model's vectors are others
    "insight_vector",
    metadata,
    Column("insight", Text, ForeignKey("insight.id", ondelete="CASCADE"), primary_key=True),
    Column("model", Text, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # floats of 32 bits, of length 1 together
)

channel = Table(  # a channel of a chat service, and the discussion that is led in it
    "channel",
    metadata,
    _id_column(),
    _tenant_column(),
    Column("guild", Text, nullable=False),
    _foreign_key("discussion", nullable=True, on_delete="SET NULL"),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("trouble", Text, nullable=True),
    _time_column(),
    Index(None, "tenant"),
    Index(None, "discussion"),
)

channel_message = Table(  # what was heard in a channel, and not yet said in its discussion
    "channel_message",
    metadata,
    _id_column(),
    _foreign_key("channel"),
    _time_column(),
    Index(None, "channel"),
)

channel_run = Table(  # how far a run was told in a channel, and what it answers there
    "channel_run",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("message", Text, nullable=True),
    Column("author", Text, nullable=True),
    Index(None, "run"),
)

channel_post = Table(  # a message that a run became in a channel; without an id it is on its way
    "channel_post",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Text, ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("message", Text, nullable=True),
    Index(None, "run"),
)

channel_memory = Table(  # what a participant still knows of what was said in a channel longer ago
    "channel_memory",
    metadata,
    Column("channel", Text, ForeignKey("channel.id", ondelete="CASCADE"), primary_key=True),
    Column("participant", Text, primary_key=True),
    Column("words", Text, nullable=False),
    Column("discussions", Json(tuple[str, ...]), nullable=False),
    _time_column("upto"),
    _time_column(),
)
