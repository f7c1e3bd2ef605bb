"""A whole discussion over HTTP as one file to save: Markdown, JSON, or a page that needs nothing but itself."""

from collections.abc import Callable

from litestar import Controller, get
from litestar.di import NamedDependency as Given
from litestar.di import Provide
from litestar.params import FromPath
from litestar.response import Stream

from moot.server.routes.files import HARMLESS, disposition
from moot.store.discussions.discussions import Discussions
from moot.transcript.export import Form, Transcripts, file_name
from moot.transcript.html_format import POLICY, Page
from moot.transcript.json_format import Document
from moot.transcript.markdown_format import Markdown
from moot.types.accounts import Caller

Written = Callable[[Form], Stream]


async def _written(
    id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions], transcripts: Given[Transcripts]
) -> Written:
    discussion = await discussions.get(caller.tenant, id)

    def write(form: Form) -> Stream:
        headers = {
            **HARMLESS,
            "Content-Security-Policy": f"sandbox; {POLICY}",
            "Content-Disposition": disposition(file_name(discussion, form)),
        }
        pieces = transcripts.pieces(caller.tenant, discussion, form)
        return Stream(pieces, media_type=form.media_type, headers=headers)

    return write


class TranscriptRoutes(Controller):
    path = "/api/discussions/{id:str}"
    tags = ("transcripts",)
    dependencies = {"written": Provide(_written)}  # noqa: RUF012 - so Litestar declares it

    @get("/transcript.md", media_type=Markdown.media_type, summary="A discussion as Markdown")
    async def markdown(self, written: Given[Written]) -> Stream:
        return written(Markdown())

    @get("/transcript.json", media_type=Document.media_type, summary="A discussion as JSON")
    async def document(self, written: Given[Written]) -> Stream:
        """Tell all that people may see of a discussion, in a shape whose version is in its `moot`."""
        return written(Document())

    @get("/transcript.html", media_type=Page.media_type, summary="A discussion as a page to look at")
    async def page(self, written: Given[Written]) -> Stream:
        """Write one file with its own style: no script is in it, and nothing is loaded from anywhere."""
        return written(Page())
