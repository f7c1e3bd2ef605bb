"""Routes for the whiteboard of a discussion, at any event, as JSON, SVG or PNG."""

import asyncio
from typing import Annotated

from litestar import Controller, Response, get
from litestar.di import NamedDependency as Given
from litestar.di import Provide
from litestar.params import FromPath, QueryParameter

from moot.engine.whiteboards import Whiteboards
from moot.server.routes.files import SAFE_FILE_HEADERS
from moot.services.image_renderer import ImageRenderer
from moot.types.accounts import Caller
from moot.whiteboard.render.svg import render_svg
from moot.whiteboard.state import Board

RunFilter = Annotated[str | None, QueryParameter(description="The state at the end of this run")]
SeqFilter = Annotated[
    int | None, QueryParameter(ge=0, schema_extra={"minimum": 0}, description="The state after this event of that run")
]

DarkTheme = Annotated[bool, QueryParameter(description="Light strokes on a dark background")]


async def _load_board(
    id: FromPath[str],
    caller: Given[Caller],
    whiteboards: Given[Whiteboards],
    run: RunFilter = None,
    seq: SeqFilter = None,
) -> Board:
    return await whiteboards.whiteboard_at(caller.tenant, id, run, seq)


class WhiteboardRoutes(Controller):
    path = "/api/discussions/{id:str}"
    tags = ("whiteboard",)
    dependencies = {"board": Provide(_load_board)}  # noqa: RUF012 - so Litestar declares it

    @get("/whiteboard", summary="Get the elements of the whiteboard")
    async def get_whiteboard(self, board: Given[Board]) -> Board:
        return board

    @get("/whiteboard.svg", media_type="image/svg+xml", summary="Render the whiteboard as SVG")
    async def get_whiteboard_svg(self, board: Given[Board], dark: DarkTheme = False) -> Response[str]:
        svg = await asyncio.to_thread(render_svg, board, dark=dark)
        return Response(svg, media_type="image/svg+xml", headers=SAFE_FILE_HEADERS)

    @get("/whiteboard.png", media_type="image/png", summary="Render the whiteboard as PNG")
    async def get_whiteboard_png(self, board: Given[Board], image_renderer: Given[ImageRenderer]) -> Response[bytes]:
        return Response(await image_renderer.render_png(board), media_type="image/png", headers=SAFE_FILE_HEADERS)
