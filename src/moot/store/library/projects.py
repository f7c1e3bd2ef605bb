"""Projects, their posts, and the project facts for prompts."""

import time
from typing import Any

from msgspec import UNSET, to_builtins
from msgspec.structs import asdict
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.library.patterns import load_completed_patterns
from moot.store.schema.library import post, project
from moot.types.errors import not_found
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

PROJECT_COLUMNS = [project.c[name] for name in Project.__struct_fields__]
POST_COLUMNS = [post.c[name] for name in Post.__struct_fields__]
MAX_PROMPT_POSTS = 5
MAX_PROMPT_PATTERNS = 10


class Projects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_project(self, tenant: str, id: str) -> Project:
        async with self._database.read() as connection:
            return await _load_project(connection, tenant, id)

    async def list_projects(self, tenant: str, *, cursor: str | None = None, limit: int = 50) -> ProjectPage:
        query = select(*PROJECT_COLUMNS).where(project.c.tenant == tenant)
        return ProjectPage(*await self._database.fetch_page(Project, query, project.c.id, cursor, limit))

    async def create_project(self, tenant: str, draft: ProjectDraft) -> Project:
        new = Project(id=new_id("project"), created_at=time.time(), **asdict(draft))
        await self._database.execute(insert(project).values(**asdict(new), tenant=tenant))
        return new

    async def update_project(self, tenant: str, id: str, change: ProjectChange) -> Project:
        mine = (project.c.id == id, project.c.tenant == tenant)
        async with self._database.write() as connection:
            if values := to_builtins(change):
                await connection.execute(update(project).where(*mine).values(**values))
            return await _load_project(connection, tenant, id)

    async def delete_project(self, tenant: str, id: str) -> None:
        """Delete a project with its posts and patterns. Discussions and insights stay, without a project."""
        mine = delete(project).where(project.c.id == id, project.c.tenant == tenant)
        if not await self._database.execute(mine):
            raise not_found("project", id)

    async def list_posts(self, tenant: str, id: str, *, cursor: str | None = None, limit: int = 50) -> PostPage:
        query = select(*POST_COLUMNS).where(post.c.project == id, post.c.tenant == tenant)
        await self.get_project(tenant, id)
        return PostPage(*await self._database.fetch_page(Post, query, post.c.id, cursor, limit))

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
            await _load_project(connection, tenant, id)
            await connection.execute(insert(post).values(**asdict(new), tenant=tenant))
        return new

    async def update_post(self, tenant: str, project: str, id: str, change: PostChange) -> Post:
        async with self._database.write() as connection:
            before = await _load_post(connection, tenant, project, id)
            if values := _post_values(before, change):
                await connection.execute(update(post).where(post.c.id == id).values(**values))
            return await _load_post(connection, tenant, project, id)

    async def delete_post(self, tenant: str, project: str, id: str) -> None:
        async with self._database.write() as connection:
            await _load_post(connection, tenant, project, id)
            await connection.execute(delete(post).where(post.c.id == id))

    async def project_facts(self, tenant: str, id: str) -> ProjectFacts:
        """Return the newest published posts and the most frequent patterns, as prompts use them."""
        published = select(*POST_COLUMNS).where(post.c.project == id, post.c.published_at.is_not(None))
        newest = published.order_by(post.c.published_at.desc(), post.c.id.desc()).limit(MAX_PROMPT_POSTS)
        async with self._database.read() as connection:
            found = await _load_project(connection, tenant, id)
            posts = tuple(Post(**row) for row in (await connection.execute(newest)).mappings())
            patterns = await load_completed_patterns(connection, tenant, id)
        return ProjectFacts(found, posts, patterns[:MAX_PROMPT_PATTERNS])


async def _load_project(connection: AsyncConnection, tenant: str, id: str) -> Project:
    mine = select(*PROJECT_COLUMNS).where(project.c.id == id, project.c.tenant == tenant)
    row = (await connection.execute(mine)).mappings().first()
    if row is None:
        raise not_found("project", id)
    return Project(**row)


async def _load_post(connection: AsyncConnection, tenant: str, project: str, id: str) -> Post:
    mine = (post.c.id == id, post.c.project == project, post.c.tenant == tenant)
    row = (await connection.execute(select(*POST_COLUMNS).where(*mine))).mappings().first()
    if row is None:
        raise not_found("post", id)
    return Post(**row)


def _post_values(before: Post, change: PostChange) -> dict[str, Any]:
    values: dict[str, Any] = to_builtins(change)
    published = values.pop("published", UNSET)
    if published is not UNSET:
        values["published_at"] = (before.published_at or time.time()) if published else None
    return values
