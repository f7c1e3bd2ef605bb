"""One turn of a lesson whose state is all with the client: what it sends, and the events that it gets.

The names are those of the wire: other programs speak this format.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from moot.types.modes import DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS, LessonRole
from moot.types.primitives import Label, LineText, LongText, ModelName

API_KEY_PATTERN = r"^[!-~]*(?!\n)$"  # visible ASCII characters
MAX_COUNT = 1_000_000  # that anybody counts to

Id = Annotated[str, Meta(min_length=1, max_length=100)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
ChatText = Annotated[str, Meta(max_length=50_000)]
ActionName = Annotated[str, Meta(max_length=100)]
Params = dict[str, Annotated[object, Meta(extra_json_schema={"description": "Any JSON"})]]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]


class _CamelCaseStruct(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Agent(_CamelCaseStruct, frozen=True, kw_only=True):
    """Somebody in the lesson; `model` is its own, where it is not that of the request."""

    id: Id
    name: Name
    model: ModelName | None = None
    role: LessonRole | None = None
    persona: LongText = ""
    avatar: LineText | None = None
    color: Label | None = None
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0


class ChatConfig(_CamelCaseStruct, frozen=True, kw_only=True):
    """Who is present, by id; `agents` says who they are."""

    agent_ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)]
    agents: Annotated[tuple[Agent, ...], Meta(min_length=1, max_length=24)]
    trigger_agent_id: Id | None = None
    discussion_topic: Annotated[str, Meta(max_length=2000)] = ""
    max_turns: Annotated[int, Meta(ge=1, le=MAX_LESSON_TURNS)] = DEFAULT_LESSON_TURNS


class StatelessMessagePart(_CamelCaseStruct, frozen=True, kw_only=True):
    """A line of an answer: speech, or something that was done."""

    type: Literal["text", "action"]
    content: ChatText = ""
    name: ActionName = ""
    params: Params = {}


class StatelessMessage(_CamelCaseStruct, frozen=True, kw_only=True):
    """What somebody said: a person, or an agent with its id; `parts` are what an agent's answer consists of."""

    role: Literal["user", "assistant"]
    content: ChatText = ""
    agent_id: Id | None = None
    parts: Annotated[tuple[StatelessMessagePart, ...], Meta(max_length=500)] = ()
    interrupted: bool = False


class WhiteboardAction(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """Something that was done on the whiteboard, and by whom."""

    action_name: ActionName
    agent_id: Id
    agent_name: Name
    params: Params = {}


class AgentResponse(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """A turn that an agent took; without a preview and actions it came to nothing."""

    agent_id: Id
    agent_name: Name
    content_preview: Annotated[str, Meta(max_length=1000)] = ""
    action_count: Count = 0
    whiteboard_actions: tuple[WhiteboardAction, ...] = ()


class DirectorState(_CamelCaseStruct, frozen=True, kw_only=True, omit_defaults=False):
    """What the client keeps between calls, and sends back as it came.

    `turn_count` says how many of the responses, the last ones, were given since the user spoke.
    """

    turn_count: Count = 0
    agent_responses: tuple[AgentResponse, ...] = ()
    whiteboard_ledger: tuple[WhiteboardAction, ...] = ()


class StoreState(_CamelCaseStruct, frozen=True, kw_only=True):
    """What is true on the client's side, beside the whiteboard."""

    language: Annotated[str, Meta(max_length=8)] | None = None


class ChatRequest(_CamelCaseStruct, frozen=True, kw_only=True):
    """`model` directs, and speaks for all agents that have none of their own; `api_key` is forgotten after the call."""

    messages: Annotated[tuple[StatelessMessage, ...], Meta(min_length=1, max_length=1000)]
    store_state: StoreState
    config: ChatConfig
    model: ModelName
    director_state: DirectorState | None = None
    api_key: Annotated[str, Meta(max_length=1000, pattern=API_KEY_PATTERN)] = ""

    def __repr__(self) -> str:
        return "ChatRequest([key and all])"


class _Event(_CamelCaseStruct, frozen=True, kw_only=True):
    """What is told of a turn; readers get it as the `data` of a frame whose `type` says which it is."""


class Thinking(_Event, frozen=True, kw_only=True):
    stage: Literal["director", "agent_loading"]
    agent_id: str | None = None


class AgentStart(_Event, frozen=True, kw_only=True):
    message_id: str
    agent_id: str
    agent_name: str
    agent_avatar: str | None = None
    agent_color: str | None = None


class TextEvent(_Event, frozen=True, kw_only=True):
    content: str
    message_id: str


class ActionEvent(_Event, frozen=True, kw_only=True):
    action_id: str
    action_name: str
    params: Params
    agent_id: str
    message_id: str


class DroppedEvent(_Event, frozen=True, kw_only=True):
    action_name: str
    reason: str
    agent_id: str
    message_id: str


class AgentEnd(_Event, frozen=True, kw_only=True):
    message_id: str
    agent_id: str


class CueUser(_Event, frozen=True, kw_only=True):
    from_agent_id: str | None = None
    prompt: str | None = None


class Done(_Event, frozen=True, kw_only=True):
    total_actions: int
    total_agents: int
    agent_had_content: bool
    director_state: DirectorState


class Error(_Event, frozen=True, kw_only=True):
    message: str


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
