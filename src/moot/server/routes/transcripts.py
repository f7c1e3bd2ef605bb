"""Routes that export a discussion as Markdown, JSON or a self-contained HTML page."""

from collections.abc import Callable

from litestar import Controller, get
from litestar.di import NamedDependency as Given
from litestar.di import Provide
from litestar.params import FromPath
from litestar.response import Stream

from moot.server.routes.files import SAFE_FILE_HEADERS, content_disposition
from moot.store.discussions.discussions import Discussions
from moot.transcript.export import TranscriptExporter, TranscriptFormat, transcript_file_name
from moot.transcript.html_format import CONTENT_SECURITY_POLICY, HtmlFormat
from moot.transcript.json_format import JsonFormat
from moot.transcript.markdown_format import MarkdownFormat
from moot.types.accounts import Caller

TranscriptResponder = Callable[[TranscriptFormat], Stream]


async def _provide_responder(
    id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions], transcripts: Given[TranscriptExporter]
) -> TranscriptResponder:
    discussion = await discussions.get_discussion(caller.tenant, id)

    def respond(transcript_format: TranscriptFormat) -> Stream:
        headers = {
            **SAFE_FILE_HEADERS,
            "Content-Security-Policy": f"sandbox; {CONTENT_SECURITY_POLICY}",
            "Content-Disposition": content_disposition(transcript_file_name(discussion, transcript_format)),
        }
        chunks = transcripts.export_chunks(caller.tenant, discussion, transcript_format)
        return Stream(chunks, media_type=transcript_format.media_type, headers=headers)

    return respond


class TranscriptRoutes(Controller):
    path = "/api/discussions/{id:str}"
    tags = ("transcripts",)
    dependencies = {"transcript_responder": Provide(_provide_responder)}  # noqa: RUF012 - so Litestar declares it

    @get("/transcript.md", media_type=MarkdownFormat.media_type, summary="Export a discussion as Markdown")
    async def get_markdown_transcript(self, transcript_responder: Given[TranscriptResponder]) -> Stream:
        return transcript_responder(MarkdownFormat())

    @get("/transcript.json", media_type=JsonFormat.media_type, summary="Export a discussion as JSON")
    async def get_json_transcript(self, transcript_responder: Given[TranscriptResponder]) -> Stream:
        """Contains all that users can see of a discussion. The `moot` field has the version of the format."""
        return transcript_responder(JsonFormat())

    @get("/transcript.html", media_type=HtmlFormat.media_type, summary="Export a discussion as an HTML page")
    async def get_html_transcript(self, transcript_responder: Given[TranscriptResponder]) -> Stream:
        """One file with inline styles, without scripts or external resources."""
        return transcript_responder(HtmlFormat())
