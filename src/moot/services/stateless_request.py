"""A request to the stateless endpoint as values: who is present, what was said, and the board that it leads to.

Whatever a client claims to have seen, only what can be understood counts; the rest is left out.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.builder import prompt
from moot.prompts.lesson import now
from moot.prompts.tasks.director import Floor, Heard, Spoke
from moot.prompts.visibility import in_lesson
from moot.streaming.lesson_turn import written
from moot.types.actions import Action, params_of, read_action
from moot.types.discussions import Message
from moot.types.errors import ActionRefused, UsageError
from moot.types.modes import END, MOST_TURNS, PREVIEW, USER, Directed
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import Plan
from moot.types.stateless import Agent, AgentResponse, ChatRequest, DirectorState, Drawn, Part, Said
from moot.whiteboard.state import Board, Entry, replayed

OTHER = "other"  # what is known of an action that was not on the board
MOST_OTHERS = 100  # of them in one turn


class Lesson(Struct, frozen=True, kw_only=True):
    """How a lesson stands before a turn; `director` is the model that decides where the rules do not."""

    plan: Plan
    director: str
    said: tuple[Message, ...]
    state: DirectorState
    board: Board

    @property
    def responses(self) -> Sequence[AgentResponse]:
        """The turns since the user spoke, as many as were counted."""
        counted = min(self.state.turn_count, MOST_TURNS)
        return self.state.agent_responses[-counted:] if counted else ()

    @property
    def floor(self) -> Floor:
        spoken = [m for m in self.said if m.content.strip()]
        return Floor(
            agents=self.plan.participants,
            limit=self.plan.directed.turns,
            turn=self.state.turn_count,
            spoke=tuple(map(_spoke, self.responses)),
            heard=tuple(map(_heard, spoken)),
            trigger=self.plan.directed.trigger,
            topic=self.plan.directed.topic,
            board=self.board,
        )

    def request(self, who: Participant) -> ModelRequest:
        """Write what an agent is sent for its turn."""
        peers = [
            (one.agent_name, one.content_preview)
            for one in self.responses
            if one.agent_id != who.id and one.content_preview
        ]
        names = {one.id: one.name for one in self.plan.participants}
        return prompt(self.plan, who, in_lesson(self.said, who.id, ""), now(self.board, peers, names))


def lesson_of(request: ChatRequest) -> Lesson:
    """Read a request; one in which nobody is present who is known is refused."""
    config, state = request.config, request.director_state or DirectorState()
    known = {agent.id: agent for agent in config.agents}
    present = [known[id] for id in dict.fromkeys(config.agent_ids) if id in known]
    if not present:
        raise UsageError("config.agents: nobody is described there who is among agentIds: add them.")
    if {USER, END} & known.keys():
        raise UsageError(f"config.agents: no agent can have the id {USER} or {END}: choose another one.")
    drawn = [(one, action) for one in state.whiteboard_ledger if (action := _action(one)) is not None]
    return Lesson(
        plan=Plan(
            mode="directed",
            participants=tuple(_participant(agent, request.model) for agent in present),
            personas={agent.id: agent.persona for agent in present if agent.persona},
            language=request.store_state.language,
            directed=Directed(
                turns=config.max_turns, trigger=config.trigger_agent_id, topic=config.discussion_topic
            ),
        ),
        director=request.model,
        said=tuple(_message(one, known) for one in request.messages),
        state=replace(
            state,
            agent_responses=tuple(map(_understood, state.agent_responses)),
            whiteboard_ledger=tuple(replace(one, params=params_of(action)) for one, action in drawn),
        ),
        board=replayed(Entry(by=one.agent_id, action=action) for one, action in drawn),
    )


def _participant(agent: Agent, model: str) -> Participant:
    return Participant(
        id=agent.id,
        name=agent.name,
        model=agent.model or model,
        role=agent.role,
        priority=agent.priority,
        colour=agent.color,
        avatar=agent.avatar,
    )


def _message(one: Said, known: dict[str, Agent]) -> Message:
    agent = known.get(one.agent_id or "")
    lines = [line for part in one.parts if (line := _line(part)) is not None]
    return Message(
        id="",
        discussion="",
        role=one.role,
        content=one.content or " ".join(line for line in lines if isinstance(line, str)),
        participant=one.agent_id if one.role == "assistant" else None,
        name=agent.name if agent and one.role == "assistant" else None,
        status="interrupted" if one.interrupted else "completed",
        script=written(lines) if lines else None,
    )


def _line(part: Part) -> str | Action | None:
    return part.content if part.type == "text" else _action(part)


def _action(one: Part | Drawn) -> Action | None:
    """Read what was done; None is what nobody can do."""
    name = one.name if isinstance(one, Part) else one.action_name
    try:
        return read_action(name, one.params, "teacher")
    except ActionRefused:
        return None


def _understood(response: AgentResponse) -> AgentResponse:
    actions = [(one, action) for one in response.whiteboard_actions if (action := _action(one)) is not None]
    return replace(
        response, whiteboard_actions=tuple(replace(one, params=params_of(action)) for one, action in actions)
    )


def _heard(message: Message) -> Heard:
    if message.role == "user":
        return Heard("The user", message.content, person=True)
    return Heard(message.name or "Somebody who has left", message.content)


def _spoke(one: AgentResponse) -> Spoke:
    drawn = [action.action_name for action in one.whiteboard_actions]
    others = [OTHER] * min(one.action_count - len(drawn), MOST_OTHERS)
    return Spoke(
        participant=one.agent_id,
        name=one.agent_name,
        preview=one.content_preview[:PREVIEW],
        actions=(*drawn, *others),
    )
