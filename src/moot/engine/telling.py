"""What one agent says and does, in the words of the stateless endpoint, and what it comes to at the end."""

from collections.abc import Sequence

from moot.model import stateless as wire
from moot.model.actions import WHITEBOARD, name_of, params_of
from moot.model.directed import PREVIEW
from moot.model.events import ActionDropped, ActionTaken, Event, TextDelta
from moot.model.ids import new_id
from moot.model.participants import Participant
from moot.model.stateless import ChatEvent, DirectorState


class Telling:
    def __init__(self, who: Participant) -> None:
        self._who = who
        self._message = new_id("msg")
        self._preview = ""
        self._acted = 0
        self._drawn: list[wire.Drawn] = []

    def begun(self) -> list[ChatEvent]:
        start = wire.AgentStart(
            message_id=self._message,
            agent_id=self._who.id,
            agent_name=self._who.name,
            agent_avatar=self._who.avatar,
            agent_color=self._who.colour,
        )
        return [wire.Thinking(stage="agent_loading", agent_id=self._who.id), start]

    def told(self, events: Sequence[Event]) -> list[ChatEvent]:
        """Tell what readers of a lesson are told; the rest is for those who watch a run."""
        return [told for event in events if (told := self._told(event)) is not None]

    def ended(self) -> wire.AgentEnd:
        return wire.AgentEnd(message_id=self._message, agent_id=self._who.id)

    def done(self, state: DirectorState) -> wire.Done:
        """Say what the turn came to, and how the lesson stands after it."""
        response = wire.AgentResponse(
            agent_id=self._who.id,
            agent_name=self._who.name,
            content_preview=self._preview,
            action_count=self._acted,
            whiteboard_actions=tuple(self._drawn),
        )
        after = DirectorState(
            turn_count=state.turn_count + 1,
            agent_responses=(*state.agent_responses, response),
            whiteboard_ledger=(*state.whiteboard_ledger, *self._drawn),
        )
        return wire.Done(
            total_actions=self._acted,
            total_agents=1,
            agent_had_content=bool(self._preview.strip()) or self._acted > 0,
            director_state=after,
        )

    def _told(self, event: Event) -> ChatEvent | None:
        match event:
            case TextDelta(text=text):
                self._preview = (self._preview + text)[:PREVIEW]
                return wire.TextEvent(content=text, message_id=self._message)
            case ActionTaken(id=id, action=action):
                return self._took(id, name_of(action), params_of(action))
            case ActionDropped(name=name, reason=reason):
                return wire.DroppedEvent(
                    action_name=name, reason=reason, agent_id=self._who.id, message_id=self._message
                )
        return None

    def _took(self, id: str, name: str, params: dict[str, object]) -> wire.ActionEvent:
        self._acted += 1
        if name in WHITEBOARD:
            self._drawn.append(
                wire.Drawn(action_name=name, agent_id=self._who.id, agent_name=self._who.name, params=params)
            )
        return wire.ActionEvent(
            action_id=id, action_name=name, params=params, agent_id=self._who.id, message_id=self._message
        )
