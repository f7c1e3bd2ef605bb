"""Projects and their posts, and what is told of them to those who discuss."""

import time
from typing import Any

from msgspec import UNSET, to_builtins
from msgspec.structs import asdict
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, cut
from moot.store.library.patterns import completed_patterns
from moot.store.schema import post, project
from moot.types.errors import NotFound
from moot.types.primitives import new_id
from moot.types.projects import (
    Post,
    PostChange,
    PostDraft,
    PostPage,
    Project,
    ProjectChange,
    ProjectDraft,
    ProjectFacts,
    ProjectPage,
)

FIELDS = [project.c[name] for name in Project.__struct_fields__]
POST_FIELDS = [post.c[name] for name in Post.__struct_fields__]
POSTS_TOLD = 5
PATTERNS_TOLD = 10


class Projects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, tenant: str, id: str) -> Project:
        async with self._database.read() as connection:
            return await _project(connection, tenant, id)

    async def page(self, tenant: str, *, cursor: str | None = None, limit: int = 50) -> ProjectPage:
        query = select(*FIELDS).where(project.c.tenant == tenant)
        if cursor is not None:
            query = query.where(project.c.id < cursor)
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(project.c.id.desc()).limit(limit + 1))
        found = [Project(**row) for row in rows.mappings()]
        return ProjectPage(*cut(found, limit, lambda one: one.id))

    async def create(self, tenant: str, draft: ProjectDraft) -> Project:
        new = Project(id=new_id("project"), created_at=time.time(), **asdict(draft))
        async with self._database.write() as connection:
            await connection.execute(insert(project).values(**asdict(new), tenant=tenant))
        return new

    async def change(self, tenant: str, id: str, change: ProjectChange) -> Project:
        mine = (project.c.id == id, project.c.tenant == tenant)
        async with self._database.write() as connection:
            if values := to_builtins(change):
                await connection.execute(update(project).where(*mine).values(**values))
            return await _project(connection, tenant, id)

    async def delete(self, tenant: str, id: str) -> None:
        """Delete a project with its posts and patterns; its discussions and their insights stay, without it."""
        mine = delete(project).where(project.c.id == id, project.c.tenant == tenant)
        async with self._database.write() as connection:
            if not (await connection.execute(mine)).rowcount:
                raise _missing("project", id)

    async def posts(self, tenant: str, id: str, *, cursor: str | None = None, limit: int = 50) -> PostPage:
        query = select(*POST_FIELDS).where(post.c.project == id, post.c.tenant == tenant)
        if cursor is not None:
            query = query.where(post.c.id < cursor)
        async with self._database.read() as connection:
            await _project(connection, tenant, id)
            rows = await connection.execute(query.order_by(post.c.id.desc()).limit(limit + 1))
        found = [Post(**row) for row in rows.mappings()]
        return PostPage(*cut(found, limit, lambda one: one.id))

    async def add_post(self, tenant: str, id: str, draft: PostDraft) -> Post:
        now = time.time()
        new = Post(
            id=new_id("post"),
            project=id,
            title=draft.title,
            excerpt=draft.excerpt,
            published_at=now if draft.published else None,
            created_at=now,
        )
        async with self._database.write() as connection:
            await _project(connection, tenant, id)
            await connection.execute(insert(post).values(**asdict(new), tenant=tenant))
        return new

    async def change_post(self, tenant: str, project: str, id: str, change: PostChange) -> Post:
        async with self._database.write() as connection:
            before = await _post(connection, tenant, project, id)
            if values := _post_values(before, change):
                await connection.execute(update(post).where(post.c.id == id).values(**values))
            return await _post(connection, tenant, project, id)

    async def delete_post(self, tenant: str, project: str, id: str) -> None:
        async with self._database.write() as connection:
            await _post(connection, tenant, project, id)
            await connection.execute(delete(post).where(post.c.id == id))

    async def context(self, tenant: str, id: str) -> ProjectFacts:
        """Return what participants are told: the newest published posts, and the most frequent patterns."""
        published = select(*POST_FIELDS).where(post.c.project == id, post.c.published_at.is_not(None))
        newest = published.order_by(post.c.published_at.desc(), post.c.id.desc()).limit(POSTS_TOLD)
        async with self._database.read() as connection:
            found = await _project(connection, tenant, id)
            posts = tuple(Post(**row) for row in (await connection.execute(newest)).mappings())
            patterns = await completed_patterns(connection, tenant, id)
        return ProjectFacts(found, posts, patterns[:PATTERNS_TOLD])


async def _project(connection: AsyncConnection, tenant: str, id: str) -> Project:
    mine = select(*FIELDS).where(project.c.id == id, project.c.tenant == tenant)
    row = (await connection.execute(mine)).mappings().first()
    if row is None:
        raise _missing("project", id)
    return Project(**row)


async def _post(connection: AsyncConnection, tenant: str, project: str, id: str) -> Post:
    mine = (post.c.id == id, post.c.project == project, post.c.tenant == tenant)
    row = (await connection.execute(select(*POST_FIELDS).where(*mine))).mappings().first()
    if row is None:
        raise _missing("post", id)
    return Post(**row)


def _post_values(before: Post, change: PostChange) -> dict[str, Any]:
    values: dict[str, Any] = to_builtins(change)
    published = values.pop("published", UNSET)
    if published is not UNSET:
        values["published_at"] = (before.published_at or time.time()) if published else None
    return values


def _missing(what: str, id: str) -> NotFound:
    return NotFound(f"There is no {what} {id!r}.")
