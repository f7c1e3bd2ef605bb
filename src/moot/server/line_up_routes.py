"""Line-ups over HTTP: kept under a name, to open discussions with."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.engine.seating import Seating
from moot.model.accounts import Caller
from moot.model.line_ups import LineUp, LineUpPage
from moot.server.line_up_drafts import LineUpChange, LineUpDraft, changed, drafted
from moot.server.paging import Cursor, Limit
from moot.store.line_ups import LineUps


class LineUpRoutes(Controller):
    path = "/api/line-ups"
    tags = ("line_ups",)

    @get(summary="List line-ups, newest first")
    async def list(
        self, caller: Given[Caller], line_ups: Given[LineUps], cursor: Cursor = None, limit: Limit = 50
    ) -> LineUpPage:
        return await line_ups.page(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Keep a line-up")
    async def create(
        self,
        data: JSONBody[LineUpDraft],
        caller: Given[Caller],
        seating: Given[Seating],
        line_ups: Given[LineUps],
    ) -> LineUp:
        """It is checked as if a discussion were opened with it."""
        new = await drafted(seating, caller.tenant, data)
        await line_ups.add(caller.tenant, new)
        return new

    @get("/{id:str}", summary="Read a line-up")
    async def read(self, id: FromPath[str], caller: Given[Caller], line_ups: Given[LineUps]) -> LineUp:
        return await line_ups.get(caller.tenant, id)

    @patch("/{id:str}", summary="Change a line-up; what is left out stays as it is")
    async def change(
        self,
        id: FromPath[str],
        data: JSONBody[LineUpChange],
        caller: Given[Caller],
        seating: Given[Seating],
        line_ups: Given[LineUps],
    ) -> LineUp:
        """Discussions that were opened with it stay as they are."""
        before = await line_ups.get(caller.tenant, id)
        after = await changed(seating, caller.tenant, data, before)
        await line_ups.change(caller.tenant, before, after)
        return after

    @delete("/{id:str}", summary="Delete a line-up; discussions that were opened with it stay")
    async def drop(self, id: FromPath[str], caller: Given[Caller], line_ups: Given[LineUps]) -> None:
        await line_ups.delete(caller.tenant, id)
