"""Files that come with messages: whether those who are spoken to can read them, and what participants get of them."""

import asyncio
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from moot.prompts.attachments import (
    MAX_FILE_BYTES,
    file_omission_note,
    inline_text_file,
    reject_unreadable_file,
    replace_unreadable_files,
    replace_unreadable_part,
)
from moot.prompts.parts import Attachment, AttachmentsByMessage, PromptPiece
from moot.providers.registry import Registry
from moot.store.discussions.files import Files, require_files
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import StoredFile
from moot.types.model_info import FileKind, file_kind
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import RunPlan

MAX_LOADED_BYTES = 2 * MAX_FILE_BYTES  # bytes that a run holds of all files in its discussion


class Attachments:
    def __init__(self, files: Files, registry: Registry) -> None:
        self._files = files
        self._registry = registry

    async def validate_attachments(self, tenant: str, ids: Sequence[str], plan: RunPlan) -> None:
        """Refuse files that are not there, are too large together, or that somebody who is spoken to cannot read."""
        if not ids:
            return
        known = await self._files.find_files(tenant, ids)
        require_files(ids, known)
        if sum(file.size for file in known.values()) > MAX_FILE_BYTES:
            raise UsageError(
                f"files: they are larger than {MAX_FILE_BYTES // 2**20} MB together: attach some with another message."
            )
        await asyncio.to_thread(self._reject_unreadable, [known[id] for id in ids], plan)

    def _reject_unreadable(self, files: Sequence[StoredFile], plan: RunPlan) -> None:
        for who in plan.responding_participants:
            kinds = self._supported_file_kinds(who.model)
            for place, file in enumerate(files if kinds is not None else ()):
                try:
                    reject_unreadable_file(who.name, who.model, kinds or (), file)
                except UsageError as error:
                    raise UsageError(f"files[{place}]: {error}") from error

    def _supported_file_kinds(self, model: str) -> Collection[FileKind] | None:
        """Tell what a model takes; None if nobody offers it any more, which its turn will say."""
        provider, _, name = model.partition("/")
        try:
            return (
                self._registry.get_provider(provider).model_profile(name).files
                if provider in self._registry
                else None
            )
        except UsageError:
            return None

    async def readable_request(self, request: ModelRequest, model: str) -> ModelRequest:
        """Show a request as a model got it, which may have been told of files that it cannot read."""
        kinds = await asyncio.to_thread(self._supported_file_kinds, model)
        return request if kinds is None else replace_unreadable_files(request, kinds)

    async def readable_pieces(self, pieces: Sequence[PromptPiece], model: str) -> list[PromptPiece]:
        """Show the pieces of a request as a model got them."""
        kinds = await asyncio.to_thread(self._supported_file_kinds, model)
        if kinds is None:
            return list(pieces)
        return [replace(piece, part=replace_unreadable_part(piece.part, kinds)) for piece in pieces]


async def load_attached_files(
    files: Files, tenant: str, messages: Sequence[Message], *, only_text: bool = False
) -> AttachmentsByMessage:
    """Load the files of a discussion, by the message they came with; where it is too much, the newest.

    With `only_text` nothing is loaded that people could not read in a prompt: other files come empty.
    """
    came = {message.id: message.files for message in reversed(messages) if message.files}
    if not came:
        return {}
    known = await files.find_files(tenant, [id for ids in came.values() for id in ids])
    fitting = _select_fitting_files([known[id] for ids in came.values() for id in ids if id in known])
    wanted = [id for id in fitting if not only_text or file_kind(known[id].media_type) == "text"]
    content = {**dict.fromkeys(fitting, b""), **await files.file_contents(tenant, wanted)}
    return {
        message: tuple(_file_part(known[id], content.get(id)) for id in ids if id in known)
        for message, ids in came.items()
    }


def _select_fitting_files(files: Sequence[StoredFile]) -> list[str]:
    """Choose the first files, the newest, as long as there is room."""
    room = MAX_LOADED_BYTES
    chosen: list[str] = []
    for file in dict.fromkeys(files):
        room -= file.size
        if room < 0:
            break
        chosen.append(file.id)
    return chosen


def _file_part(file: StoredFile, data: bytes | None) -> Attachment:
    part = (
        file_omission_note(file) if data is None else inline_text_file(File(file.name, file.media_type, data))
    )
    return Attachment(part, name=file.name, size=file.size)
