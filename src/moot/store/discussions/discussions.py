"""Discussions and their messages. Pages are newest first; their cost does not grow with the number of rows."""

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, paginate
from moot.store.discussions.search import Excerpt, make_excerpt, search_condition, search_words
from moot.store.schema.discussions import discussion, message
from moot.store.schema.library import insight
from moot.store.schema.runs import run
from moot.types.discussions import LIVE_STATUSES, ActiveDiscussion, Discussion, DiscussionStatus, Message, Run
from moot.types.errors import Conflict, NotFound, UsageError, not_found
from moot.types.versions import apply_version, current_versions, valid_versions

Id = Annotated[str, msgspec.Meta(pattern=r"^\w+$")]

DISCUSSION_COLUMNS = [discussion.c[name] for name in Discussion.__struct_fields__]
MESSAGE_COLUMNS = [message.c[name] for name in Message.__struct_fields__ if name in message.c]
RUN_COLUMNS = [run.c[name] for name in Run.__struct_fields__]


class SearchHit(Excerpt, frozen=True, kw_only=True):
    """The newest message of a discussion that matches a search, with an excerpt."""

    discussion: str
    message: str


class DiscussionPage(msgspec.Struct, frozen=True):
    """A page of discussions. A search adds hits."""

    discussions: tuple[Discussion, ...]
    next: str | None  # cursor of the next page; None: this is the last page
    hits: tuple[SearchHit, ...] = ()  # one per discussion with a matching message; the others match by title


class Discussions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_discussion(self, tenant: str, id: str) -> Discussion:
        query = select(*DISCUSSION_COLUMNS).where(discussion.c.id == id, discussion.c.tenant == tenant)
        if (found := await self._database.fetch_struct(Discussion, query)) is None:
            raise not_found("discussion", id)
        return found

    async def list_discussions(
        self,
        tenant: str,
        *,
        cursor: str | None = None,
        limit: int = 50,
        status: DiscussionStatus | None = None,
        project: str | None = None,
        q: str | None = None,
    ) -> DiscussionPage:
        query = select(*DISCUSSION_COLUMNS).where(discussion.c.tenant == tenant)
        if status is not None:
            query = query.where(discussion.c.status == status)
        if project is not None:
            query = query.where(discussion.c.project == project)
        if q:
            query = query.where(self._discussion_condition(tenant, q))
        newest = query.order_by(discussion.c.updated_at.desc(), discussion.c.id.desc()).limit(limit + 1)
        rows = await self._database.fetch_structs(Discussion, _apply_cursor(newest, cursor))
        found, next = paginate(rows, limit, _encode_cursor)
        return DiscussionPage(found, next, await self._find_hits(tenant, q, [one.id for one in found]) if q else ())

    def _discussion_condition(self, tenant: str, q: str) -> ColumnElement[bool]:
        by_message = select(message.c.discussion).where(self._message_condition(tenant, q))
        return or_(search_condition(self._database, discussion, q), discussion.c.id.in_(by_message))

    def _message_condition(self, tenant: str, q: str) -> ColumnElement[bool]:
        visible = (message.c.tenant == tenant, message.c.hidden.is_(False), is_current_version())
        return and_(*visible, search_condition(self._database, message, q))

    async def _find_hits(self, tenant: str, q: str, ids: Collection[str]) -> tuple[SearchHit, ...]:
        if not search_words(q):
            return ()
        matching = (message.c.discussion.in_(ids), self._message_condition(tenant, q))
        newest = select(func.max(message.c.seq)).where(*matching).group_by(message.c.discussion)
        turn = func.coalesce(message.c.version_of, message.c.id)
        query = select(message.c.discussion, turn, message.c.content).where(message.c.seq.in_(newest))
        rows = await self._database.fetch_all(query)
        return tuple(
            SearchHit(**msgspec.structs.asdict(make_excerpt(content, q)), discussion=of, message=id)
            for of, id, content in rows
        )

    async def update_discussion(self, tenant: str, id: str, changes: Mapping[str, Any]) -> Discussion:
        query = (
            update(discussion)
            .where(discussion.c.id == id, discussion.c.tenant == tenant)
            .values(**changes, updated_at=time.time())
            .returning(*DISCUSSION_COLUMNS)
        )
        async with self._database.write() as connection:
            row = (await connection.execute(query)).mappings().first()
            if row is None:
                raise not_found("discussion", id)
            if "project" in changes:
                moved = update(insight).where(insight.c.discussion == id).values(project=changes["project"])
                await connection.execute(moved)
            await notify_discussion_change(self._database, connection, tenant, id)
        return Discussion(**row)

    async def delete_discussion(self, tenant: str, id: str) -> None:
        """Delete a discussion with its messages, runs and insights. Raises Conflict during a live run."""
        mine = (discussion.c.id == id, discussion.c.tenant == tenant)
        locked = select(discussion.c.id).where(*mine).with_for_update()
        async with self._database.write() as connection:
            if (await connection.execute(locked)).first() is None:
                raise not_found("discussion", id)
            await reject_if_live(connection, id)
            await connection.execute(delete(discussion).where(*mine))
            await notify_discussion_change(self._database, connection, tenant, id)

    async def list_messages(
        self,
        id: str,
        *,
        before: int | None = None,
        visible_until: int | None = None,
        max_position: int | None = None,
        limit: int | None = None,
        include_hidden: bool = True,
    ) -> tuple[Message, ...]:
        """Return the newest messages, each turn once in its current version, oldest first.

        The order is by run: an interrupted run comes before the next one, also if its last messages are newer.
        `before` returns only messages before that `seq`, for paging. `visible_until` ignores messages and
        versions with a higher one. `max_position` ignores runs at a later position.
        """
        query = select(*MESSAGE_COLUMNS).where(message.c.discussion == id, message.c.version_of.is_(None))
        if before is not None:
            cursor = (message.c.seq == before, message.c.discussion == id)
            position = select(message.c.position).where(*cursor).scalar_subquery()
            query = query.where(tuple_(message.c.position, message.c.seq) < tuple_(position, before))
        if visible_until is not None:
            query = query.where(message.c.seq <= visible_until)
        if max_position is not None:
            query = query.where(message.c.position <= max_position)
        if not include_hidden:
            query = query.where(message.c.hidden.is_(False))
        query = query.order_by(message.c.position.desc(), message.c.seq.desc()).limit(limit)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
            firsts = [Message(**row) for row in reversed(rows)]
            turn_ids = [one.id for one in firsts] if limit is not None else None
            later = await load_later_versions(connection, id, turn_ids, visible_until)
            return current_versions([*firsts, *later])

    async def get_message(self, discussion_id: str, id: str) -> Message:
        """Return a turn in its current version, or by the id of a later version in that one. Raises NotFound."""
        mine = message.c.discussion == discussion_id
        return await self._find_turn(id, mine, f"There is no turn {id!r} in this discussion.")

    async def find_message(self, tenant: str, id: str) -> Message:
        """Like `get_message`, for any discussion of the tenant."""
        return await self._find_turn(id, message.c.tenant == tenant, f"There is no message {id!r}.")

    async def _find_turn(self, id: str, condition: ColumnElement[bool], not_found_message: str) -> Message:
        async with self._database.read() as connection:
            turn = await load_turn_versions(connection, id, condition, not_found_message)
        asked = turn[-1] if turn[0].id == id else next(one for one in turn if one.id == id)
        return apply_version(turn, asked)

    async def run_messages(self, run_id: str) -> tuple[Message, ...]:
        """Return the messages that a run wrote, in order. Later versions are not applied."""
        return await self._fetch_messages(select(*MESSAGE_COLUMNS).where(message.c.run == run_id))

    async def participant_thread(self, run_id: str, participant: str, question: str | None) -> tuple[Message, ...]:
        """Return the private thread of a participant, after the message `question`, in current versions."""
        mine = (message.c.run == run_id) & (message.c.thread == participant)
        query = select(*MESSAGE_COLUMNS).where(or_(message.c.id == question, mine))
        messages = await self._fetch_messages(query)
        if not messages:
            return ()
        async with self._database.read() as connection:
            ids = [one.id for one in messages]
            later = await load_later_versions(connection, messages[0].discussion, ids)
        return current_versions([*messages, *later])

    async def run_instructions(self, run_id: str) -> tuple[Message, ...]:
        """Return the hidden messages of a run: the instructions that participants got."""
        query = select(*MESSAGE_COLUMNS).where(message.c.run == run_id, message.c.hidden.is_(True))
        return await self._fetch_messages(query)

    async def _fetch_messages(self, query: Select[Any]) -> tuple[Message, ...]:
        return await self._database.fetch_structs(Message, query.order_by(message.c.seq))

    async def origin_run(self, answer: Message) -> str | None:
        """Return the run that wrote the shown version. For an edited version, that of the first version."""
        query = select(message.c.run).where(message.c.id == (answer.version_id or answer.id))
        return await self._database.fetch_value(query) or answer.run

    async def live_runs(self, tenant: str, discussion_id: str | None = None) -> tuple[Run, ...]:
        query = select(*RUN_COLUMNS).where(run.c.tenant == tenant, run.c.status.in_(LIVE_STATUSES)).order_by(run.c.id)
        if discussion_id is not None:
            query = query.where(run.c.discussion == discussion_id)
        return await self._database.fetch_structs(Run, query)

    async def live_run_counts(self, tenant: str) -> tuple[ActiveDiscussion, ...]:
        """Return the number of live runs per discussion. The result omits discussions without any."""
        query = select(run.c.discussion, func.count().label("runs")).where(
            run.c.tenant == tenant, run.c.status.in_(LIVE_STATUSES)
        )
        query = query.group_by(run.c.discussion).order_by(run.c.discussion)
        return await self._database.fetch_structs(ActiveDiscussion, query)


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


async def add_discussion(connection: AsyncConnection, tenant: str, account: str, new: Discussion) -> None:
    values = msgspec.structs.asdict(new)
    await connection.execute(insert(discussion).values(**values, tenant=tenant, account=account))


async def add_message(connection: AsyncConnection, tenant: str, new: Message) -> int:
    """Insert a user message and return its `seq`, which is also the position of the run that it starts."""
    query = insert(message).values(**message_values(tenant, new, position=0)).returning(message.c.seq)
    seq = int((await connection.execute(query)).scalar_one())
    await connection.execute(update(message).where(message.c.seq == seq).values(position=seq))
    await connection.execute(update(run).where(run.c.id == new.run).values(position=seq))
    return seq


async def set_last_position(connection: AsyncConnection, id: str) -> None:
    """Set the position of a run without a user message: after all messages."""
    newest = select(func.coalesce(func.max(message.c.seq), 0)).scalar_subquery()
    await connection.execute(update(run).where(run.c.id == id).values(position=newest))


def message_values(tenant: str, new: Message, position: int) -> dict[str, Any]:
    values = {column.name: getattr(new, column.name) for column in MESSAGE_COLUMNS}
    del values["seq"]  # autoincremented by the database
    # Postgres rejects NUL characters in text.
    values |= {name: values[name].replace("\0", "") for name in ("content", "thoughts", "details")}
    return {**values, "tenant": tenant, "position": position}


async def lock_discussions(connection: AsyncConnection, ids: Collection[str]) -> None:
    """Lock discussions until the transaction ends, in the order of their ids.

    A transaction that also locks runs must lock discussions first, or two transactions can deadlock.
    """
    mine = select(discussion.c.id).where(discussion.c.id.in_(ids)).order_by(discussion.c.id)
    await connection.execute(mine.with_for_update(key_share=True))


async def reactivate_discussion(connection: AsyncConnection, id: str, at: float) -> None:
    """Move a discussion to the top of the list and out of the archive."""
    touched = update(discussion).where(discussion.c.id == id)
    await connection.execute(touched.values(updated_at=at, status="active"))


async def replace_title(connection: AsyncConnection, tenant: str, id: str, title: str, expected_title: str) -> bool:
    """Return False, and change nothing, if the title is not `expected_title` any more."""
    mine = (discussion.c.id == id, discussion.c.tenant == tenant, discussion.c.title == expected_title)
    changed = await connection.execute(update(discussion).where(*mine).values(title=title))
    return bool(changed.rowcount)


async def reject_if_live(connection: AsyncConnection, id: str) -> None:
    """Raise Conflict if the discussion has a live run. Lock the discussion first, so that none can start."""
    live = select(run.c.id).where(run.c.discussion == id, run.c.status.in_(LIVE_STATUSES)).limit(1)
    if live_run := (await connection.execute(live)).scalar():
        raise Conflict(f"This discussion has a live run. Wait for run {live_run}, or stop it first.")


async def notify_discussion_change(database: Database, connection: AsyncConnection, tenant: str, id: str) -> None:
    await database.notify(connection, "moot_changes", f"{tenant} {id}")


def _apply_cursor(query: Select[Any], cursor: str | None) -> Select[Any]:
    if cursor is None:
        return query
    try:
        updated_at, id = msgspec.json.decode(urlsafe_b64decode(cursor), type=tuple[float, Id])
    except (ValueError, msgspec.MsgspecError):
        raise UsageError("cursor: this server did not issue it. Omit the cursor to start from the newest.") from None
    return query.where(tuple_(discussion.c.updated_at, discussion.c.id) < tuple_(updated_at, id))


def _encode_cursor(last: Discussion) -> str:
    return urlsafe_b64encode(msgspec.json.encode((last.updated_at, last.id))).decode()
