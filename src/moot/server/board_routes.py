"""The whiteboard of a discussion over HTTP, at any event of it: as JSON, SVG or PNG."""

import asyncio
from typing import Annotated

from litestar import Controller, Response, get
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, QueryParameter

from moot.board.replay import Board
from moot.board.svg import svg
from moot.engine.boards import Boards
from moot.engine.painting import Painter
from moot.model.accounts import Caller
from moot.server.file_routes import HARMLESS

Run = Annotated[str | None, QueryParameter(description="Only what was drawn until the end of this run")]
Seq = Annotated[
    int | None,
    QueryParameter(ge=0, schema_extra={"minimum": 0}, description="And until this event of that run"),
]


class BoardRoutes(Controller):
    path = "/api/discussions/{id:str}"
    tags = ("whiteboard",)

    @get("/board", summary="The whiteboard, element by element")
    async def read(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        boards: Given[Boards],
        run: Run = None,
        seq: Seq = None,
    ) -> Board:
        return await boards.at(caller.tenant, id, run, seq)

    @get("/board.svg", media_type="image/svg+xml", summary="The whiteboard as a drawing")
    async def drawing(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        boards: Given[Boards],
        run: Run = None,
        seq: Seq = None,
    ) -> Response[str]:
        board = await boards.at(caller.tenant, id, run, seq)
        return Response(await asyncio.to_thread(svg, board), media_type="image/svg+xml", headers=HARMLESS)

    @get("/board.png", media_type="image/png", summary="The whiteboard as a picture")
    async def picture(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        boards: Given[Boards],
        painter: Given[Painter],
        run: Run = None,
        seq: Seq = None,
    ) -> Response[bytes]:
        board = await boards.at(caller.tenant, id, run, seq)
        return Response(await painter.png(board), media_type="image/png", headers=HARMLESS)
