"""Requests and events of the stateless chat endpoint, whose client stores all state.

Field names are part of a wire format that other programs use; do not rename them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from moot.types.modes import DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS
from moot.types.participants import LessonRole
from moot.types.primitives import Label, LineText, LongText, ModelName

API_KEY_PATTERN = r"^[!-~]*(?!\n)$"  # visible ASCII characters
MAX_COUNT = 1_000_000  # upper limit of counters in a request

Id = Annotated[str, Meta(min_length=1, max_length=100)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
ChatText = Annotated[str, Meta(max_length=50_000)]
ActionName = Annotated[str, Meta(max_length=100)]
Params = dict[str, Annotated[object, Meta(extra_json_schema={"description": "Any JSON"})]]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]


class _CamelCaseStruct(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Agent(_CamelCaseStruct, frozen=True, kw_only=True):
    """A participant of the lesson."""

    id: Id
    name: Name
    model: ModelName | None = None  # None: the model of the request
    role: LessonRole | None = None
    persona: LongText = ""
    avatar: LineText | None = None
    color: Label | None = None
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0


class ChatConfig(_CamelCaseStruct, frozen=True, kw_only=True):
    """Agents and limits of the lesson."""

    agent_ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)]  # ids of the agents present
    agents: Annotated[tuple[Agent, ...], Meta(min_length=1, max_length=24)]
    trigger_agent_id: Id | None = None
    discussion_topic: Annotated[str, Meta(max_length=2000)] = ""
    max_turns: Annotated[int, Meta(ge=1, le=MAX_LESSON_TURNS)] = DEFAULT_LESSON_TURNS


class StatelessMessagePart(_CamelCaseStruct, frozen=True, kw_only=True):
    """One item of an agent's message."""

    type: Literal["text", "action"]
    content: ChatText = ""  # of a text item
    name: ActionName = ""  # of an action item
    params: Params = {}


class StatelessMessage(_CamelCaseStruct, frozen=True, kw_only=True):
    """A message of the user or of an agent."""

    role: Literal["user", "assistant"]
    content: ChatText = ""
    agent_id: Id | None = None  # None: the user
    parts: Annotated[tuple[StatelessMessagePart, ...], Meta(max_length=500)] = ()  # items of an agent's message
    interrupted: bool = False


class WhiteboardAction(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """An entry of the whiteboard's action log."""

    action_name: ActionName
    agent_id: Id
    agent_name: Name
    params: Params = {}


class AgentResponse(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """A finished turn. An empty preview without actions means that the turn failed."""

    agent_id: Id
    agent_name: Name
    content_preview: Annotated[str, Meta(max_length=1000)] = ""
    action_count: Count = 0
    whiteboard_actions: tuple[WhiteboardAction, ...] = ()


class DirectorState(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """State that the client stores between requests and returns unchanged."""

    turn_count: Count = 0  # number of responses, from the end of the list, since the last user message
    agent_responses: tuple[AgentResponse, ...] = ()
    whiteboard_ledger: tuple[WhiteboardAction, ...] = ()


class StoreState(_CamelCaseStruct, frozen=True, kw_only=True):
    """Client state that is not part of `DirectorState`."""

    language: Annotated[str, Meta(max_length=8)] | None = None


class ChatRequest(_CamelCaseStruct, frozen=True, kw_only=True):
    messages: Annotated[tuple[StatelessMessage, ...], Meta(min_length=1, max_length=1000)]
    store_state: StoreState
    config: ChatConfig
    model: ModelName  # selects the next speaker; also the default model of agents
    director_state: DirectorState | None = None
    api_key: Annotated[str, Meta(max_length=1000, pattern=API_KEY_PATTERN)] = ""  # never stored

    def __repr__(self) -> str:  # keeps the API key out of logs and exceptions
        return "ChatRequest([key and all])"


class Thinking(_CamelCaseStruct, frozen=True, kw_only=True):
    stage: Literal["director", "agent_loading"]
    agent_id: str | None = None


class AgentStart(_CamelCaseStruct, frozen=True, kw_only=True):
    message_id: str
    agent_id: str
    agent_name: str
    agent_avatar: str | None = None
    agent_color: str | None = None


class TextEvent(_CamelCaseStruct, frozen=True, kw_only=True):
    content: str
    message_id: str


class ActionEvent(_CamelCaseStruct, frozen=True, kw_only=True):
    action_id: str
    action_name: str
    params: Params
    agent_id: str
    message_id: str


class DroppedEvent(_CamelCaseStruct, frozen=True, kw_only=True):
    action_name: str
    reason: str
    agent_id: str
    message_id: str


class AgentEnd(_CamelCaseStruct, frozen=True, kw_only=True):
    message_id: str
    agent_id: str


class CueUser(_CamelCaseStruct, frozen=True, kw_only=True):
    from_agent_id: str | None = None
    prompt: str | None = None


class Done(_CamelCaseStruct, frozen=True, kw_only=True):
    total_actions: int
    total_agents: int
    agent_had_content: bool
    director_state: DirectorState


class Error(_CamelCaseStruct, frozen=True, kw_only=True):
    message: str


# Clients receive an event as field `data` of an object whose `type` is in `EVENT_NAMES`.
ChatEvent = Thinking | AgentStart | TextEvent | ActionEvent | DroppedEvent | AgentEnd | CueUser | Done | Error

EVENT_NAMES: Mapping[type[ChatEvent], str] = {
    Thinking: "thinking",
    AgentStart: "agent_start",
    TextEvent: "text_delta",
    ActionEvent: "action",
    DroppedEvent: "action_dropped",
    AgentEnd: "agent_end",
    CueUser: "cue_user",
    Done: "done",
    Error: "error",
}
EVENT_FRAMES: Mapping[type[ChatEvent], type[Any]] = {
    kind: defstruct(f"{kind.__name__}Frame", [("data", kind)], frozen=True, tag_field="type", tag=name)
    for kind, name in EVENT_NAMES.items()
}
