"""Queries for versions of messages: all of a turn, the later ones of many turns, and the current one."""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.schema.discussions import message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.versions import valid_versions

MESSAGE_COLUMNS = [message.c[name] for name in Message.__struct_fields__ if name in message.c]


async def load_turn_versions(
    connection: AsyncConnection, id: str, condition: ColumnElement[bool], not_found_message: str
) -> Sequence[Message]:
    """Return the valid versions of the turn that message `id` belongs to, oldest first.

    Raises NotFound with `not_found_message`.
    """
    own = select(func.coalesce(message.c.version_of, message.c.id)).where(message.c.id == id, condition)
    first = own.scalar_subquery()
    query = select(*MESSAGE_COLUMNS).where(or_(message.c.id == first, message.c.version_of == first))
    rows = (await connection.execute(query.order_by(message.c.seq))).mappings().all()
    turn = valid_versions([Message(**row) for row in rows]) if rows else ()
    if id not in {one.id for one in turn}:
        raise NotFound(not_found_message)
    return turn


async def load_later_versions(
    connection: AsyncConnection,
    discussion: str,
    turn_ids: Collection[str] | None = None,
    visible_until: int | None = None,
) -> list[Message]:
    """Return all versions except the first. `turn_ids` None means all turns of the discussion.

    `visible_until` ignores messages with a higher `seq`.
    """
    if turn_ids is not None and not turn_ids:
        return []
    query = select(*MESSAGE_COLUMNS)
    if turn_ids is None:
        query = query.where(message.c.discussion == discussion, message.c.version_of.is_not(None))
    else:  # by id only, so that the cost does not grow with the discussion
        query = query.where(message.c.version_of.in_(turn_ids))
    if visible_until is not None:
        query = query.where(message.c.seq <= visible_until)
    return [Message(**row) for row in (await connection.execute(query)).mappings()]


def is_current_version() -> ColumnElement[bool]:
    """Return an SQL condition for messages that are the current version of their turn.

    A later version counts if it is completed, or if a user selected it.
    """
    newer = message.alias("newer")
    is_replaced = and_(
        newer.c.version_of == func.coalesce(message.c.version_of, message.c.id),
        newer.c.seq > message.c.seq,
        or_(newer.c.status == "completed", newer.c.copy_of.is_not(None)),
    )
    is_valid = or_(message.c.status == "completed", message.c.copy_of.is_not(None))
    return and_(or_(message.c.version_of.is_(None), is_valid), ~exists().where(is_replaced))
