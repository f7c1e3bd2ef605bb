"""Request and response types of the OpenAI API. Field names are those of its JSON."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from moot.types.chunks import Usage
from moot.types.primitives import NO_NUL_PATTERN

MAX_MESSAGES = 1000

AnyJson = Annotated[object, Meta(description="Any JSON")]
FinishReason = Literal["stop", "length", "content_filter"]


class TextPart(Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class RefusalPart(Struct, frozen=True, tag_field="type", tag="refusal"):
    refusal: str


class ImageUrl(Struct, frozen=True):
    url: str


class ImagePart(Struct, frozen=True, tag_field="type", tag="image_url"):
    image_url: ImageUrl


class FileData(Struct, frozen=True):
    file_data: str | None = None
    filename: str | None = None
    file_id: str | None = None


class FilePart(Struct, frozen=True, tag_field="type", tag="file"):
    file: FileData


class AudioPart(Struct, frozen=True, tag_field="type", tag="input_audio"):
    """Parsed only to reject it with a clear error message."""


ChatMessagePart = TextPart | RefusalPart | ImagePart | FilePart | AudioPart


class ChatMessage(Struct, frozen=True, kw_only=True):
    """A message. Unknown fields are ignored, because clients send back extra fields of earlier responses."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | tuple[ChatMessagePart, ...] | None = None
    name: Annotated[str, Meta(max_length=100, pattern=NO_NUL_PATTERN)] | None = None  # the author
    tool_calls: AnyJson = None
    function_call: AnyJson = None


class StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


class CompletionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    model: Annotated[str, Meta(min_length=1, max_length=300)]
    messages: Annotated[tuple[ChatMessage, ...], Meta(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    discussion: Annotated[str, Meta(max_length=60)] | None = None  # Moot's own: send the last message there
    metadata: dict[str, str] | None = None

    # Rejected unless the value has no effect: ignoring these fields would change the answer.
    n: AnyJson = None
    logprobs: AnyJson = None
    top_logprobs: AnyJson = None
    logit_bias: AnyJson = None
    stop: AnyJson = None
    tools: AnyJson = None
    tool_choice: AnyJson = None
    functions: AnyJson = None
    function_call: AnyJson = None
    response_format: AnyJson = None
    modalities: AnyJson = None
    audio: AnyJson = None
    web_search_options: AnyJson = None

    # Ignored: hints and metadata.
    top_p: AnyJson = None
    frequency_penalty: AnyJson = None
    presence_penalty: AnyJson = None
    seed: AnyJson = None
    user: AnyJson = None
    safety_identifier: AnyJson = None
    store: AnyJson = None
    service_tier: AnyJson = None
    parallel_tool_calls: AnyJson = None
    prediction: AnyJson = None
    prompt_cache_key: AnyJson = None
    prompt_cache_retention: AnyJson = None
    verbosity: AnyJson = None

    @property
    def discussion_id(self) -> str | None:
        """The `discussion` field, or the key `discussion` in `metadata`."""
        return self.discussion or (self.metadata or {}).get("discussion")

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)


class PromptDetails(Struct, frozen=True):
    cached_tokens: int


class CompletionDetails(Struct, frozen=True):
    reasoning_tokens: int


class CompletionUsage(Struct, frozen=True, kw_only=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


def completion_usage(usage: Usage) -> CompletionUsage:
    return CompletionUsage(
        prompt_tokens=usage.input,
        completion_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        prompt_tokens_details=PromptDetails(usage.cached),
        completion_tokens_details=CompletionDetails(usage.reasoning),
    )


class AssistantMessage(Struct, frozen=True, kw_only=True):
    content: str
    reasoning_content: str | None = None
    refusal: str | None = None
    role: Literal["assistant"] = "assistant"


class Choice(Struct, frozen=True, kw_only=True):
    message: AssistantMessage
    finish_reason: FinishReason
    index: int = 0
    logprobs: None = None


class Completion(Struct, frozen=True, kw_only=True):
    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: CompletionUsage
    object: Literal["chat.completion"] = "chat.completion"


class Delta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None


class ChunkChoice(Struct, frozen=True, kw_only=True):
    delta: Delta
    finish_reason: FinishReason | None = None
    index: int = 0
    logprobs: None = None


class Chunk(Struct, frozen=True, kw_only=True):
    id: str
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


class ChunkWithUsage(Chunk, frozen=True, kw_only=True):
    """A chunk if the client requested usage: null in all chunks but the last."""

    usage: CompletionUsage | None = None


class ModelObject(Struct, frozen=True, kw_only=True):
    id: str
    created: int = 0
    owned_by: str = "moot"
    object: Literal["model"] = "model"


class ModelList(Struct, frozen=True, kw_only=True):
    data: tuple[ModelObject, ...]
    object: Literal["list"] = "list"


class OpenAiError(Struct, frozen=True, kw_only=True):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAiErrorResponse(Struct, frozen=True):
    error: OpenAiError
