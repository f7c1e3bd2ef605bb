"""One turn of a lesson whose state is all with the client: what it sends, and the events that it gets.

The names are those of the wire: other programs speak this format.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from moot.model.directed import MOST_TURNS, TURNS, LessonRole
from moot.model.texts import Label, Line, ModelName, Paper

Id = Annotated[str, Meta(min_length=1, max_length=100)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Words = Annotated[str, Meta(max_length=50_000)]
ActionName = Annotated[str, Meta(max_length=100)]


class _Wire(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Agent(_Wire, frozen=True, kw_only=True):
    id: Id
    name: Name
    role: LessonRole | None = None
    persona: Paper = ""
    avatar: Line | None = None
    color: Label | None = None
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0


class Config(_Wire, frozen=True, kw_only=True):
    """Who is present, by id; `agents` says who they are."""

    agent_ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)]
    agents: Annotated[tuple[Agent, ...], Meta(min_length=1, max_length=24)]
    trigger_agent_id: Id | None = None
    discussion_topic: Annotated[str, Meta(max_length=2000)] = ""
    max_turns: Annotated[int, Meta(ge=1, le=MOST_TURNS)] = TURNS


class Part(_Wire, frozen=True, kw_only=True):
    """A line of an answer: speech, or something that was done."""

    type: Literal["text", "action"]
    content: Words = ""
    name: ActionName = ""
    params: dict[str, object] = {}


class Said(_Wire, frozen=True, kw_only=True):
    """What somebody said: a person, or an agent with its id; `parts` are what an agent's answer consists of."""

    role: Literal["user", "assistant"]
    content: Words = ""
    agent_id: Id | None = None
    parts: Annotated[tuple[Part, ...], Meta(max_length=500)] = ()
    interrupted: bool = False


class Drawn(_Wire, frozen=True, kw_only=True):
    action_name: ActionName
    agent_id: Id
    agent_name: Name
    params: dict[str, object] = {}


class AgentResponse(_Wire, frozen=True, kw_only=True, omit_defaults=False):
    agent_id: Id
    agent_name: Name
    content_preview: Annotated[str, Meta(max_length=1000)] = ""
    action_count: Annotated[int, Meta(ge=0)] = 0
    whiteboard_actions: tuple[Drawn, ...] = ()


class DirectorState(_Wire, frozen=True, kw_only=True, omit_defaults=False):
    """What the client keeps between calls, and sends back as it came."""

    turn_count: Annotated[int, Meta(ge=0)] = 0
    agent_responses: Annotated[tuple[AgentResponse, ...], Meta(max_length=1000)] = ()
    whiteboard_ledger: Annotated[tuple[Drawn, ...], Meta(max_length=5000)] = ()


class StoreState(_Wire, frozen=True, kw_only=True):
    """What is true on the client's side, beside the whiteboard."""

    language: Annotated[str, Meta(max_length=8)] | None = None


class ChatRequest(_Wire, frozen=True, kw_only=True):
    """`model` speaks for all agents; `api_key` is used for this call, and forgotten."""

    messages: Annotated[tuple[Said, ...], Meta(min_length=1, max_length=1000)]
    store_state: StoreState
    config: Config
    model: ModelName
    director_state: DirectorState | None = None
    api_key: Annotated[str, Meta(max_length=1000)] = ""


class _Event(_Wire, frozen=True, kw_only=True):
    """`type` says which it is, `data` holds its fields."""


class Thinking(_Event, frozen=True, kw_only=True):
    stage: Literal["director", "agent_loading"]
    agent_id: str | None = None


class AgentStart(_Event, frozen=True, kw_only=True):
    message_id: str
    agent_id: str
    agent_name: str
    agent_avatar: str | None = None
    agent_color: str | None = None


class TextDelta(_Event, frozen=True, kw_only=True):
    content: str
    message_id: str


class ActionEvent(_Event, frozen=True, kw_only=True):
    action_id: str
    action_name: str
    params: dict[str, object]
    agent_id: str
    message_id: str


class ActionDropped(_Event, frozen=True, kw_only=True):
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


ChatEvent = (
    Thinking | AgentStart | TextDelta | ActionEvent | ActionDropped | AgentEnd | CueUser | Done | Error
)

NAMES: dict[type[ChatEvent], str] = {
    Thinking: "thinking",
    AgentStart: "agent_start",
    TextDelta: "text_delta",
    ActionEvent: "action",
    ActionDropped: "action_dropped",
    AgentEnd: "agent_end",
    CueUser: "cue_user",
    Done: "done",
    Error: "error",
}
