"""Parser of stateless chat requests: participants, messages and whiteboard state.

The client sends the whole state. Actions in it that cannot be parsed are dropped, not rejected.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.builder import build_model_request
from moot.prompts.lesson import render_lesson_state
from moot.prompts.tasks.director import DirectorContext, DirectorMessage, TurnPreview
from moot.prompts.visibility import lesson_view
from moot.streaming.lesson_turn import encode_lesson_items
from moot.types.actions import Action, get_action_params, parse_action
from moot.types.discussions import Message
from moot.types.errors import InvalidAction, UsageError
from moot.types.modes import (
    LESSON_ENDS,
    MAX_LESSON_TURNS,
    PREVIEW_CHARACTERS,
    USER_SPEAKS_NEXT,
    DirectedOptions,
)
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan
from moot.types.stateless import (
    Agent,
    AgentResponse,
    ChatRequest,
    DirectorState,
    StatelessMessage,
    StatelessMessagePart,
    WhiteboardAction,
)
from moot.whiteboard.state import Board, RecordedAction, replay_actions

OTHER_ACTION = "other"  # placeholder: the state has no names of actions off the board
MAX_OTHER_ACTIONS = 100  # placeholders per turn


class Lesson(Struct, frozen=True, kw_only=True):
    """State of a lesson before a turn."""

    plan: RunPlan
    director: str  # model that selects the next speaker if the rules do not
    messages: tuple[Message, ...]
    state: DirectorState
    board: Board

    @property
    def responses(self) -> Sequence[AgentResponse]:
        """The turns since the user's last message, by the client's `turn_count`."""
        counted = min(self.state.turn_count, MAX_LESSON_TURNS)
        return self.state.agent_responses[-counted:] if counted else ()

    @property
    def director_context(self) -> DirectorContext:
        spoken = [m for m in self.messages if m.content.strip()]
        return DirectorContext(
            participants=self.plan.participants,
            max_turns=self.plan.directed.turns,
            turn=self.state.turn_count,
            previous_turns=tuple(map(_director_turn, self.responses)),
            messages=tuple(map(_director_message, spoken)),
            trigger=self.plan.directed.first_speaker,
            topic=self.plan.directed.topic,
            board=self.board,
        )

    def build_request(self, participant: Participant) -> ModelRequest:
        peers = [
            (one.agent_name, one.content_preview)
            for one in self.responses
            if one.agent_id != participant.id and one.content_preview
        ]
        names = {one.id: one.name for one in self.plan.participants}
        return build_model_request(
            self.plan,
            participant,
            lesson_view(self.messages, participant.id, ""),
            render_lesson_state(self.board, peers, names),
        )


def parse_lesson(request: ChatRequest) -> Lesson:
    """Raises UsageError if no agent matches `agentIds`, or if an agent has a reserved id."""
    config, state = request.config, request.director_state or DirectorState()
    known = {agent.id: agent for agent in config.agents}
    present = [known[id] for id in dict.fromkeys(config.agent_ids) if id in known]
    if not present:
        raise UsageError("config.agents: none of them is in agentIds. Add the agents that take part.")
    if {USER_SPEAKS_NEXT, LESSON_ENDS} & known.keys():
        raise UsageError(
            f"config.agents: no agent can have the id {USER_SPEAKS_NEXT} or {LESSON_ENDS}. Choose another id."
        )
    drawn = [(one, action) for one in state.whiteboard_ledger if (action := _parse_action(one)) is not None]
    return Lesson(
        plan=RunPlan(
            mode="directed",
            participants=tuple(_parse_participant(agent, request.model) for agent in present),
            personas={agent.id: agent.persona for agent in present if agent.persona},
            language=request.store_state.language,
            directed=DirectedOptions(
                turns=config.max_turns, first_speaker=config.trigger_agent_id, topic=config.discussion_topic
            ),
        ),
        director=request.model,
        messages=tuple(_parse_message(one, known) for one in request.messages),
        state=replace(
            state,
            agent_responses=tuple(map(_keep_valid_actions, state.agent_responses)),
            whiteboard_ledger=tuple(replace(one, params=get_action_params(action)) for one, action in drawn),
        ),
        board=replay_actions(RecordedAction(participant=one.agent_id, action=action) for one, action in drawn),
    )


def _parse_participant(agent: Agent, model: str) -> Participant:
    return Participant(
        id=agent.id,
        name=agent.name,
        model=agent.model or model,
        role=agent.role,
        priority=agent.priority,
        colour=agent.color,
        avatar=agent.avatar,
    )


def _parse_message(one: StatelessMessage, agents: dict[str, Agent]) -> Message:
    agent = agents.get(one.agent_id or "")
    lines = [line for part in one.parts if (line := _parse_part(part)) is not None]
    return Message(
        id="",
        discussion="",
        role=one.role,
        content=one.content or " ".join(line for line in lines if isinstance(line, str)),
        participant=one.agent_id if one.role == "assistant" else None,
        name=agent.name if agent and one.role == "assistant" else None,
        status="interrupted" if one.interrupted else "completed",
        lesson_items=encode_lesson_items(lines) if lines else None,
    )


def _parse_part(part: StatelessMessagePart) -> str | Action | None:
    return part.content if part.type == "text" else _parse_action(part)


def _parse_action(one: StatelessMessagePart | WhiteboardAction) -> Action | None:
    """Parse an action; None if it is invalid."""
    name = one.name if isinstance(one, StatelessMessagePart) else one.action_name
    try:
        # "teacher" may use every action. The role of the agent at that time is not in the state.
        return parse_action(name, one.params, "teacher")
    except InvalidAction:
        return None


def _keep_valid_actions(response: AgentResponse) -> AgentResponse:
    actions = [(one, action) for one in response.whiteboard_actions if (action := _parse_action(one)) is not None]
    return replace(
        response,
        whiteboard_actions=tuple(replace(one, params=get_action_params(action)) for one, action in actions),
    )


def _director_message(message: Message) -> DirectorMessage:
    if message.role == "user":
        return DirectorMessage("The user", message.content, is_person=True)
    return DirectorMessage(message.name or "Somebody who has left", message.content)


def _director_turn(response: AgentResponse) -> TurnPreview:
    drawn = [action.action_name for action in response.whiteboard_actions]
    others = [OTHER_ACTION] * min(response.action_count - len(drawn), MAX_OTHER_ACTIONS)
    return TurnPreview(
        participant=response.agent_id,
        name=response.agent_name,
        preview=response.content_preview[:PREVIEW_CHARACTERS],
        actions=(*drawn, *others),
    )
