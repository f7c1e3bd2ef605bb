"""Routes for projects and their posts."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.server.requests import PageCursor, PageLimit
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.projects import Post, PostChange, PostDraft, PostPage, Project, ProjectChange, ProjectDraft, ProjectPage


class ProjectRoutes(Controller):
    path = "/api/projects"
    tags = ("projects",)

    @get(summary="List projects, newest first")
    async def list_projects(
        self, caller: Given[Caller], projects: Given[Projects], cursor: PageCursor = None, limit: PageLimit = 50
    ) -> ProjectPage:
        return await projects.list_projects(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Create a project")
    async def create_project(
        self, data: JSONBody[ProjectDraft], caller: Given[Caller], projects: Given[Projects]
    ) -> Project:
        return await projects.create_project(caller.tenant, data)

    @get("/{id:str}", summary="Get a project")
    async def get_project(self, id: FromPath[str], caller: Given[Caller], projects: Given[Projects]) -> Project:
        return await projects.get_project(caller.tenant, id)

    @patch("/{id:str}", summary="Change a project; omitted fields keep their value")
    async def update_project(
        self, id: FromPath[str], data: JSONBody[ProjectChange], caller: Given[Caller], projects: Given[Projects]
    ) -> Project:
        return await projects.update_project(caller.tenant, id, data)

    @delete("/{id:str}", summary="Delete a project with its posts and patterns; its discussions stay")
    async def delete_project(self, id: FromPath[str], caller: Given[Caller], projects: Given[Projects]) -> None:
        await projects.delete_project(caller.tenant, id)

    @get("/{id:str}/posts", summary="List a project's posts and drafts, newest first")
    async def list_posts(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        projects: Given[Projects],
        cursor: PageCursor = None,
        limit: PageLimit = 50,
    ) -> PostPage:
        return await projects.list_posts(caller.tenant, id, cursor=cursor, limit=limit)

    @post("/{id:str}/posts", summary="Create a post; prompts of the project include published posts")
    async def create_post(
        self, id: FromPath[str], data: JSONBody[PostDraft], caller: Given[Caller], projects: Given[Projects]
    ) -> Post:
        return await projects.add_post(caller.tenant, id, data)

    @patch("/{id:str}/posts/{post_id:str}", summary="Change, publish or unpublish a post")
    async def update_post(
        self,
        id: FromPath[str],
        post_id: FromPath[str],
        data: JSONBody[PostChange],
        caller: Given[Caller],
        projects: Given[Projects],
    ) -> Post:
        return await projects.update_post(caller.tenant, id, post_id, data)

    @delete("/{id:str}/posts/{post_id:str}", summary="Delete a post")
    async def delete_post(
        self, id: FromPath[str], post_id: FromPath[str], caller: Given[Caller], projects: Given[Projects]
    ) -> None:
        await projects.delete_post(caller.tenant, id, post_id)
