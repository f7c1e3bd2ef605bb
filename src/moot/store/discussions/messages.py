"""Versions of what was said, as they are read: those of a turn, those of many, and which words are shown now."""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.schema import message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.versions import counting

MESSAGE_FIELDS = [message.c[name] for name in Message.__struct_fields__ if name in message.c]


async def turn_of(
    connection: AsyncConnection, id: str, mine: ColumnElement[bool], otherwise: str
) -> Sequence[Message]:
    """Read all versions of the turn that a message is a version of; where there is none, say so `otherwise`."""
    own = select(func.coalesce(message.c.version_of, message.c.id)).where(message.c.id == id, mine)
    first = own.scalar_subquery()
    query = select(*MESSAGE_FIELDS).where(or_(message.c.id == first, message.c.version_of == first))
    rows = (await connection.execute(query.order_by(message.c.number))).mappings().all()
    turn = counting([Message(**row) for row in rows]) if rows else ()
    if id not in {one.id for one in turn}:
        raise NotFound(otherwise)
    return turn


async def versions_in(
    connection: AsyncConnection, discussion: str, of: Collection[str] | None = None, upto: int | None = None
) -> list[Message]:
    """Read the later versions of some turns in a discussion, or of all, as far as they were there at a number."""
    if of is not None and not of:
        return []
    query = select(*MESSAGE_FIELDS)
    if of is None:
        query = query.where(message.c.discussion == discussion, message.c.version_of.is_not(None))
    else:  # by their ids alone, so that it costs the same however much was said
        query = query.where(message.c.version_of.in_(of))
    if upto is not None:
        query = query.where(message.c.number <= upto)
    return [Message(**row) for row in (await connection.execute(query)).mappings()]


def is_shown() -> ColumnElement[bool]:
    """Tell messages whose words are the current ones of their turn."""
    newer = message.alias("newer")
    instead = and_(
        newer.c.version_of == func.coalesce(message.c.version_of, message.c.id),
        newer.c.number > message.c.number,
        or_(newer.c.status == "completed", newer.c.copy_of.is_not(None)),
    )
    whole = or_(message.c.status == "completed", message.c.copy_of.is_not(None))
    return and_(or_(message.c.version_of.is_(None), whole), ~exists().where(instead))
