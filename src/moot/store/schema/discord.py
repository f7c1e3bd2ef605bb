"""Tables of Discord channels and of delivery to them."""

from sqlalchemy import Column, Index, Integer, Table, Text

from moot.store.schema.columns import Json, foreign_key, key_column, metadata, time_column
from moot.types.participants import Participant

channel = Table(  # Discord channel and the discussion bound to it
    "channel",
    metadata,
    key_column(),
    foreign_key("tenant"),
    Column("guild", Text, nullable=False),
    foreign_key("discussion", nullable=True, on_delete="SET NULL"),
    Column("mode", Text, nullable=False),
    Column("participants", Json(tuple[Participant, ...]), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("error", Text, nullable=True),  # why sending is disabled; None: it is not
    time_column(),
    Index(None, "tenant"),
    Index(None, "discussion"),
)

channel_message = Table(  # queue: received in a channel, not sent to the discussion yet
    "channel_message",
    metadata,
    key_column(),
    foreign_key("channel"),
    time_column(),
    Index(None, "channel"),
)

channel_run = Table(  # delivery progress of a run in a channel
    "channel_run",
    metadata,
    foreign_key("channel", primary_key=True),
    foreign_key("run", primary_key=True),
    Column("seq", Integer, nullable=False),  # last delivered event
    Column("message", Text, nullable=True),  # id of the Discord message that it answers
    Column("author", Text, nullable=True),
    Index(None, "run"),
)

channel_post = Table(  # Discord message with a part of a run
    "channel_post",
    metadata,
    foreign_key("channel", primary_key=True),
    foreign_key("run", primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("message", Text, nullable=True),  # Discord id; None until the response arrives
    Index(None, "run"),
)

channel_memory = Table(  # summary of older messages in a channel, per participant
    "channel_memory",
    metadata,
    foreign_key("channel", primary_key=True),
    key_column("participant"),
    Column("text", Text, nullable=False),
    Column("discussions", Json(tuple[str, ...]), nullable=False),
    time_column("covers_until"),  # time of the newest message that it covers
    time_column(),
)
