"""Files that come with messages: whether those who are spoken to can read them, and what participants get of them."""

import asyncio
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from moot.prompts.attachments import LARGEST, left_out, readable, readable_part, refuse_unread, written_out
from moot.prompts.parts import Attached, Enclosed, Piece
from moot.providers.registry import Registry
from moot.store.discussions.files import Files, refuse_missing
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import StoredFile
from moot.types.model_info import FileKind, file_kind
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import Plan

ROOM = 2 * LARGEST  # bytes that a run holds of all files in its discussion


class Attaching:
    def __init__(self, files: Files, registry: Registry) -> None:
        self._files = files
        self._registry = registry

    async def check(self, tenant: str, ids: Sequence[str], plan: Plan) -> None:
        """Refuse files that are not there, are too large together, or that somebody who is spoken to cannot read."""
        if not ids:
            return
        known = await self._files.several(tenant, ids)
        refuse_missing(ids, known)
        if sum(file.size for file in known.values()) > LARGEST:
            raise UsageError(
                f"files: they are larger than {LARGEST // 2**20} MB together: attach some with another message."
            )
        await asyncio.to_thread(self._refuse_unread, [known[id] for id in ids], plan)

    def _refuse_unread(self, files: Sequence[StoredFile], plan: Plan) -> None:
        for who in plan.speaking:
            kinds = self._kinds(who.model)
            for place, file in enumerate(files if kinds is not None else ()):
                try:
                    refuse_unread(who.name, who.model, kinds or (), file)
                except UsageError as error:
                    raise UsageError(f"files[{place}]: {error}") from error

    def _kinds(self, model: str) -> Collection[FileKind] | None:
        """Tell what a model takes; None if nobody offers it any more, which its turn will say."""
        provider, _, name = model.partition("/")
        try:
            return (
                self._registry.provider(provider).profile(name).files if provider in self._registry else None
            )
        except UsageError:
            return None

    async def shown(self, request: ModelRequest, model: str) -> ModelRequest:
        """Show a request as a model got it, which may have been told of files that it cannot read."""
        kinds = await asyncio.to_thread(self._kinds, model)
        return request if kinds is None else readable(request, kinds)

    async def shown_in_pieces(self, pieces: Sequence[Piece], model: str) -> list[Piece]:
        """Show the pieces of a request as a model got them."""
        kinds = await asyncio.to_thread(self._kinds, model)
        if kinds is None:
            return list(pieces)
        return [replace(piece, part=readable_part(piece.part, kinds)) for piece in pieces]


async def attached(
    files: Files, tenant: str, said: Sequence[Message], *, only_text: bool = False
) -> Attached:
    """Load the files of a discussion, by the message they came with; where it is too much, the newest.

    With `only_text` nothing is loaded that people could not read in a prompt: other files come empty.
    """
    came = {message.id: message.files for message in reversed(said) if message.files}
    if not came:
        return {}
    known = await files.several(tenant, [id for ids in came.values() for id in ids])
    fitting = _fitting([known[id] for ids in came.values() for id in ids if id in known])
    wanted = [id for id in fitting if not only_text or file_kind(known[id].media_type) == "text"]
    content = {**dict.fromkeys(fitting, b""), **await files.content(tenant, wanted)}
    return {
        message: tuple(_part(known[id], content.get(id)) for id in ids if id in known)
        for message, ids in came.items()
    }


def _fitting(files: Sequence[StoredFile]) -> list[str]:
    """Choose the first files, the newest, as long as there is room."""
    room = ROOM
    chosen: list[str] = []
    for file in dict.fromkeys(files):
        room -= file.size
        if room < 0:
            break
        chosen.append(file.id)
    return chosen


def _part(file: StoredFile, data: bytes | None) -> Enclosed:
    part = left_out(file) if data is None else written_out(File(file.name, file.media_type, data))
    return Enclosed(part, name=file.name, size=file.size)
