"""Parses a chat completion request, and runs it in memory or in a stored discussion.

A field that would change the answer but is not supported raises `UsageError`; it is never ignored.
"""

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import assert_never
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.events.hub import EventHub, decode_frame
from moot.engine.model_resolution import ModelResolver
from moot.engine.runs.ephemeral import EphemeralRun, EphemeralRuns, check_files
from moot.prompts.attachments import build_question, inline_text_file, validate_media_type
from moot.prompts.parts import Attachment
from moot.server.openai.schemas import (
    AudioPart,
    ChatMessage,
    ChatMessagePart,
    CompletionRequest,
    FilePart,
    ImagePart,
    RefusalPart,
    TextPart,
)
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.services.billing import AccountBudgetGuard
from moot.services.discussions import DiscussionService, NewMessage
from moot.services.model_tasks import ModelTasks
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.errors import UsageError, prefix_not_found
from moot.types.events import Event, RunEnded
from moot.types.files import sanitize_file_name
from moot.types.modes import AdvisorOptions
from moot.types.participants import Participant, participant_id
from moot.types.primitives import new_id
from moot.types.requests import Effort, File, ModelMessage
from moot.types.run_plan import RunPlan
from moot.types.streams import HEARTBEAT, BatchStream

MAX_MESSAGE_CHARS = 10_000  # of one message in a discussion
# Unsupported fields, with the values that have no effect and are accepted. null is always accepted.
NEUTRAL_VALUES: Mapping[str, Collection[object]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "stop": ([], ""),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}
# Rejected with a discussion, which has its own settings.
DISCUSSION_SETTINGS = ("temperature", "max_tokens", "max_completion_tokens", "reasoning_effort")
FILES_ONLY_TEXT = "See what is attached."
EFFORTS: Mapping[str | None, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high"}


class CompletionInput(Struct, frozen=True, kw_only=True):
    system: str  # all system and developer messages
    question_text: str
    question_files: tuple[File, ...]
    history: tuple[Message, ...]  # messages before the question
    history_attachments: dict[str, tuple[Attachment, ...]]  # by message id
    all_files: tuple[File, ...]  # of the history and the question

    @property
    def question(self) -> ModelMessage:
        return build_question(self.question_text, files=self.question_files)


class CompletionRun(Struct, frozen=True):
    """A run without a discussion starts when its events are read; a run in a discussion has already started."""

    id: str
    plan: RunPlan
    events: BatchStream[Event]


class CompletionRunner:
    def __init__(
        self,
        stores: Stores,
        virtual_models: VirtualModels,
        model_resolver: ModelResolver,
        ephemeral_runs: EphemeralRuns,
        model_tasks: ModelTasks,
        discussion_service: DiscussionService,
        event_hub: EventHub,
    ) -> None:
        self._stores = stores
        self._virtual_models = virtual_models
        self._model_resolver = model_resolver
        self._ephemeral_runs = ephemeral_runs
        self._model_tasks = model_tasks
        self._discussion_service = discussion_service
        self._event_hub = event_hub

    async def start_completion(
        self, caller: Caller, request: CompletionRequest, limits: RateLimits, key: str | None
    ) -> CompletionRun:
        self._discussion_service.reject_if_draining()
        reject_unsupported_fields(request)
        if request.discussion_id is not None:
            return await self._send_to_discussion(caller, request, request.discussion_id, limits, key)
        plan = await self._virtual_models.plan_run(caller, request.model)
        parsed = await _parse_request(request, plan)
        plan = _apply_request(request, plan, parsed.system)
        chains = await self._model_resolver.resolve_chains(caller.tenant, plan.participants)
        if parsed.all_files:
            try:
                await asyncio.to_thread(check_files, plan, chains, parsed.all_files)
            except UsageError as error:
                raise UsageError(f"messages: {error}") from error
        await self._stores.budgets.reject_if_spent(caller.account)
        await limits.count_message(caller.account)
        await limits.count_run_start(caller.account, plan.mode)
        ephemeral_run = EphemeralRun(
            plan=plan,
            question=parsed.question,
            chains=chains,
            earlier=parsed.history,
            attachments=parsed.history_attachments,
        )
        events = self._ephemeral_runs.stream(ephemeral_run, AccountBudgetGuard(self._model_tasks, caller))
        return CompletionRun(new_id("chatcmpl"), plan, events)

    async def _send_to_discussion(
        self, caller: Caller, request: CompletionRequest, discussion_id: str, limits: RateLimits, key: str | None
    ) -> CompletionRun:
        """Send only the last message: the discussion already has its history."""
        with prefix_not_found("discussion"):
            discussion = await self._stores.discussions.get_discussion(caller.tenant, discussion_id)
        plan = RunPlan(
            mode=discussion.mode,
            participants=discussion.participants,
            rounds=discussion.rounds,
            advisors=discussion.advisors or AdvisorOptions(),
        )
        parsed = await _parse_request(request, plan)
        if len(parsed.question_text) > MAX_MESSAGE_CHARS:
            raise UsageError(f"messages: in a discussion a message has at most {MAX_MESSAGE_CHARS:,} characters.")
        if parsed.question_files and key is not None:
            raise UsageError("messages: files cannot be sent to a discussion with an Idempotency-Key.")
        await limits.count_message(caller.account)
        await limits.count_run_start(caller.account, plan.mode)
        files = tuple([await self._store_file(caller, file) for file in parsed.question_files])
        new_message = NewMessage(discussion=discussion_id, message=parsed.question_text, files=files)
        started = await self._discussion_service.send_message(caller, new_message, key)
        return CompletionRun(started.run.id, plan, self.read_events(caller, started.run.id))

    async def read_events(self, caller: Caller, run: str) -> BatchStream[Event]:
        """Yield the events of a stored run from its start.

        Closing the generator before the run ends stops the run.
        """
        is_over = False
        try:
            progress = await self._stores.events.run_progress(caller.tenant, run)
            async with aclosing(self._event_hub.subscribe(run, 0, progress)) as frames:
                async for batch in frames:
                    events = [decode_frame(frame) for frame in batch]
                    is_over = any(isinstance(event, RunEnded) for event in events)
                    yield events or HEARTBEAT
        finally:
            if not is_over:
                await self._stores.runs.request_stop(caller.tenant, run)

    async def _store_file(self, caller: Caller, file: File) -> str:
        sha256 = hashlib.sha256(file.data).hexdigest()
        stored = await self._stores.files.store_file(
            caller.tenant, caller.account, file.name, file.media_type, sha256, file.data
        )
        return stored.id


async def _parse_request(request: CompletionRequest, plan: RunPlan) -> CompletionInput:
    """Parse in a thread if the request may contain files, because decoding them is slow."""
    if all(isinstance(one.content, str) for one in request.messages):
        return parse_messages(request, plan.participants)
    return await asyncio.to_thread(parse_messages, request, plan.participants)


def _apply_request(request: CompletionRequest, plan: RunPlan, system: str) -> RunPlan:
    """Apply the settings to all participants, and append the system messages to each persona."""
    participants = tuple(apply_settings(request, participant) for participant in plan.participants)
    if not system:
        return replace(plan, participants=participants)
    personas = {one.id: "\n\n".join(filter(None, (plan.personas.get(one.id), system))) for one in participants}
    return replace(plan, participants=participants, personas=personas)


def apply_settings(request: CompletionRequest, participant: Participant) -> Participant:
    """Settings of the request override those of the participant; a missing or unknown one changes nothing."""
    limit = request.max_completion_tokens or request.max_tokens
    return replace(
        participant,
        temperature=participant.temperature if request.temperature is None else request.temperature,
        max_tokens=limit or participant.max_tokens,
        thinking=EFFORTS.get(request.reasoning_effort, participant.thinking),
    )


def reject_unsupported_fields(request: CompletionRequest) -> None:
    """Raises `UsageError` for unsupported fields, and for settings that a discussion already has."""
    for field, neutral in NEUTRAL_VALUES.items():
        value = getattr(request, field)
        if value is not None and value not in neutral:
            raise UsageError(f"{field}: Moot does not support this. Leave it out.")
    if request.discussion_id is not None:
        for field in DISCUSSION_SETTINGS:
            if getattr(request, field) is not None:
                raise UsageError(f"{field}: the discussion has its own settings. Leave it out.")


def parse_messages(request: CompletionRequest, participants: Sequence[Participant]) -> CompletionInput:
    """Split the messages into history and question. The last message must have the role user."""
    messages = list(enumerate(request.messages))
    instructions = [_message_text(one, index) for index, one in messages if one.role in {"system", "developer"}]
    conversation = [(index, one) for index, one in messages if one.role not in {"system", "developer"}]
    if not conversation or conversation[-1][1].role != "user":
        raise UsageError("messages: the last one must be of the role user. It is the question.")
    (last_index, last), before = conversation[-1], conversation[:-1]
    history: list[Message] = []
    attachments: dict[str, tuple[Attachment, ...]] = {}
    history_files: list[File] = []
    turn = 0
    for index, one in before:
        turn += one.role == "user"
        message = _history_message(one, _message_text(one, index), len(history) + 1, turn, participants)
        history.append(message)
        if files := list(_message_files(one, index)):
            attachments[message.id] = tuple(Attachment(inline_text_file(file), name=file.name) for file in files)
            history_files += files
    question_files = tuple(_message_files(last, last_index))
    text = _message_text(last, last_index)
    if not text.strip() and not question_files:
        raise UsageError(f"messages[{last_index}].content: it is empty. Send text or a file.")
    return CompletionInput(
        system="\n\n".join(filter(None, instructions)),
        question_text=_user_text(last, text),
        question_files=question_files,
        history=tuple(history),
        history_attachments=attachments,
        all_files=(*history_files, *question_files),
    )


def _history_message(
    one: ChatMessage, words: str, number: int, turn: int, participants: Sequence[Participant]
) -> Message:
    is_user = one.role == "user"
    author = None if is_user else _find_author(one, participants)
    return Message(
        id=new_id("msg"),
        discussion="",
        run=f"earlier/{turn}",
        role="user" if is_user else "assistant",
        content=_user_text(one, words) if is_user else words,
        seq=number,
        participant=author.id if author else None,
        name=None if is_user else author.name if author else one.name,
        stage=None if is_user else "answer",
        created_at=time.time(),
    )


def _find_author(one: ChatMessage, participants: Sequence[Participant]) -> Participant | None:
    """Return the participant that the message names; without a name, the only participant."""
    if one.name is not None:
        known = {participant.id: participant for participant in participants}
        return known.get(participant_id(one.name))
    return participants[0] if len(participants) == 1 else None


def _user_text(one: ChatMessage, words: str) -> str:
    words = words if words.strip() else FILES_ONLY_TEXT
    return f"{one.name}: {words}" if one.name else words


def _message_text(one: ChatMessage, index: int) -> str:
    if one.role in {"tool", "function"} or one.tool_calls or one.function_call:
        raise UsageError(f"messages[{index}].role: tools of the client are not supported. Leave such messages out.")
    if isinstance(one.content, str):
        return one.content
    return "\n\n".join(_part_text(part) for part in one.content or () if isinstance(part, TextPart | RefusalPart))


def _part_text(part: TextPart | RefusalPart) -> str:
    return part.text if isinstance(part, TextPart) else part.refusal


def _message_files(one: ChatMessage, index: int) -> Iterator[File]:
    for part_index, part in enumerate(one.content if isinstance(one.content, tuple) else ()):
        field = f"messages[{index}].content[{part_index}]"
        if (file := _part_file(part, field)) is not None:
            if one.role != "user":
                raise UsageError(f"{field}: only a message of the role user can have files.")
            yield file


def _part_file(part: ChatMessagePart, field: str) -> File | None:
    match part:
        case TextPart() | RefusalPart():
            return None
        case ImagePart():
            return _decode_data_url(part.image_url.url, "image", f"{field}.image_url.url")
        case FilePart():
            if part.file.file_data is None:
                raise UsageError(
                    f"{field}.file.file_data: it is missing. Send the file as a data URL; file ids are not supported."
                )
            return _decode_data_url(part.file.file_data, part.file.filename or "file", f"{field}.file.file_data")
        case AudioPart():
            raise UsageError(f"{field}: audio is not supported. Send text, images or PDF.")
    assert_never(part)


def _decode_data_url(url: str, name: str, field: str) -> File:
    """Decode a data URL. Other URLs are rejected: fetching them would allow SSRF into the server's network."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UsageError(f"{field}: it is not a data URL. Send one such as data:image/png;base64,…")
    try:
        data = base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{field}: it is not base64.") from error
    return File(sanitize_file_name(name), validate_media_type(data, f"{field}: it"), data)
