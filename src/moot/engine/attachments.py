"""Validates and loads the files attached to messages."""

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

MAX_LOADED_BYTES = 2 * MAX_FILE_BYTES  # a run keeps at most this much file content in memory


class Attachments:
    def __init__(self, files: Files, registry: Registry) -> None:
        self._files = files
        self._registry = registry

    async def validate_attachments(self, tenant: str, ids: Sequence[str], plan: RunPlan) -> None:
        """Raise UsageError if a file is missing, unreadable for a responder's model, or the total is too large."""
        if not ids:
            return
        known = await self._files.find_files(tenant, ids)
        require_files(ids, known)
        if sum(file.size for file in known.values()) > MAX_FILE_BYTES:
            raise UsageError(
                f"files: the total size is over {MAX_FILE_BYTES // 2**20} MB. Attach some files to another message."
            )
        await asyncio.to_thread(self._reject_unreadable, [known[id] for id in ids], plan)

    def _reject_unreadable(self, files: Sequence[StoredFile], plan: RunPlan) -> None:
        for participant in plan.responding_participants:
            kinds = self._supported_file_kinds(participant.model)
            for index, file in enumerate(files if kinds is not None else ()):
                try:
                    reject_unreadable_file(participant.name, participant.model, kinds or (), file)
                except UsageError as error:
                    raise UsageError(f"files[{index}]: {error}") from error

    def _supported_file_kinds(self, model: str) -> Collection[FileKind] | None:
        """Return None if no provider offers the model any more; the turn reports that error."""
        profile = self._registry.find_profile(model)
        return profile.files if profile else None

    async def readable_request(self, request: ModelRequest, model: str) -> ModelRequest:
        """Replace files that the model cannot read by notes, as in the request that was sent."""
        kinds = await asyncio.to_thread(self._supported_file_kinds, model)
        return request if kinds is None else replace_unreadable_files(request, kinds)

    async def readable_pieces(self, pieces: Sequence[PromptPiece], model: str) -> list[PromptPiece]:
        kinds = await asyncio.to_thread(self._supported_file_kinds, model)
        if kinds is None:
            return list(pieces)
        return [replace(piece, part=replace_unreadable_part(piece.part, kinds)) for piece in pieces]


async def load_attached_files(
    files: Files, tenant: str, messages: Sequence[Message], *, only_text: bool = False
) -> AttachmentsByMessage:
    """Load file contents by message id, newest first, up to `MAX_LOADED_BYTES`.

    With `only_text`, files of other types have an empty body.
    """
    ids_by_message = {message.id: message.files for message in reversed(messages) if message.files}
    if not ids_by_message:
        return {}
    known = await files.find_files(tenant, [id for ids in ids_by_message.values() for id in ids])
    fitting = _select_fitting_files([known[id] for ids in ids_by_message.values() for id in ids if id in known])
    wanted = [id for id in fitting if not only_text or file_kind(known[id].media_type) == "text"]
    content = {**dict.fromkeys(fitting, b""), **await files.file_contents(tenant, wanted)}
    return {
        message: tuple(_file_part(known[id], content.get(id)) for id in ids if id in known)
        for message, ids in ids_by_message.items()
    }


def _select_fitting_files(files: Sequence[StoredFile]) -> list[str]:
    room = MAX_LOADED_BYTES
    chosen: list[str] = []
    for file in dict.fromkeys(files):
        room -= file.size
        if room < 0:
            break
        chosen.append(file.id)
    return chosen


def _file_part(file: StoredFile, data: bytes | None) -> Attachment:
    part = file_omission_note(file) if data is None else inline_text_file(File(file.name, file.media_type, data))
    return Attachment(part, name=file.name, size=file.size)
