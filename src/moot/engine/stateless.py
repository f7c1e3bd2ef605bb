"""One turn of a lesson for a client that keeps the state: the director decides, one agent speaks, nothing is kept."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

import msgspec
from msgspec import Raw

from moot.board.replay import Board, Entry, replayed
from moot.context.directing import END, PREVIEW, USER, Floor, Heard, Spoke, ask, by_rules, fallback
from moot.context.lesson import now
from moot.context.prompt import prompt
from moot.engine.speaker import Speaker
from moot.engine.structured import structured
from moot.model import stateless as wire
from moot.model.actions import name_of, params_of, read_action
from moot.model.directed import Directed
from moot.model.discussions import Message
from moot.model.errors import ActionRefused, UsageError
from moot.model.events import ActionDropped, ActionTaken, Decided, Event, Seat, TextDelta, TurnEnded
from moot.model.ids import new_id
from moot.model.manual import line_for
from moot.model.money import Charge
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.model.requests import ModelRequest
from moot.model.stateless import ChatEvent, ChatRequest, DirectorState
from moot.providers.registry import Resolved
from moot.streams.act import Act, Deed, Speech
from moot.streams.stop import Stop

INTERRUPTED = "Request interrupted"
WAITING = 256  # events that may wait for a reader before the model waits with them


class Lesson:
    """What a request says, as values; a request in which nobody is present who is known is refused."""

    def __init__(self, request: ChatRequest) -> None:
        config, self.state = request.config, request.director_state or DirectorState()
        known = {agent.id: agent for agent in config.agents}
        present = [known[id] for id in dict.fromkeys(config.agent_ids) if id in known]
        if not present:
            raise UsageError("config.agents: none of the agents in agentIds is described there: add them.")
        self.plan = Plan(
            mode="directed",
            participants=tuple(_participant(agent, request.model) for agent in present),
            personas={agent.id: agent.persona for agent in present if agent.persona},
            language=request.store_state.language,
            directed=Directed(
                turns=config.max_turns, trigger=config.trigger_agent_id, topic=config.discussion_topic
            ),
        )
        self.said = [_message(one, known) for one in request.messages]
        self.board = _replayed(self.state.whiteboard_ledger)

    @property
    def floor(self) -> Floor:
        spoken = [m for m in self.said if m.content.strip()]
        return Floor(
            agents=self.plan.participants,
            limit=self.plan.directed.turns,
            turn=self.state.turn_count,
            spoke=tuple(map(_spoke, self.state.agent_responses)),
            heard=tuple(Heard(m.name or "The user", m.content, m.role == "user") for m in spoken),
            trigger=self.plan.directed.trigger,
            topic=self.plan.directed.topic,
            board=self.board,
        )

    def request(self, who: Participant) -> ModelRequest:
        peers = [
            (one.agent_name, one.content_preview)
            for one in self.state.agent_responses
            if one.agent_id != who.id and one.content_preview
        ]
        asked = prompt(self.plan, who, self.said, now(self.board, peers))
        return msgspec.structs.replace(asked, array_of=Raw(msgspec.json.encode(line_for(who.role))))


class Stateless:
    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    async def turn(
        self, lesson: Lesson, chain: Sequence[Resolved], stop: Stop, charges: list[Charge]
    ) -> AsyncIterator[ChatEvent]:
        """Take one turn; what it cost is added to `charges`, however it ends."""
        yield wire.Thinking(stage="director")
        decision = await self._decision(lesson, chain, stop, charges)
        if decision.next in {USER, END}:
            if decision.next == USER:
                last = lesson.state.agent_responses[-1].agent_id if lesson.state.agent_responses else None
                yield wire.CueUser(from_agent_id=last, prompt=decision.reason)
            yield wire.Done(
                total_actions=0, total_agents=0, agent_had_content=False, director_state=lesson.state
            )
            return
        async for event in self._spoken(lesson, lesson.plan.participant(decision.next), chain, stop, charges):
            yield event

    async def _decision(
        self, lesson: Lesson, chain: Sequence[Resolved], stop: Stop, charges: list[Charge]
    ) -> Decided:
        floor = lesson.floor
        if (decided := by_rules(floor)) is not None:
            return decided
        inquiry = ask(floor)
        answer = await structured(
            self._speaker, chain, inquiry.request, inquiry.answer, inquiry.check, stop, inquiry.asks
        )
        charges.append(Charge(purpose="director", model=answer.model, usage=answer.usage, cost=answer.cost))
        found = inquiry.found(answer.value) if answer.value is not None else fallback(floor)
        assert isinstance(found, Decided)  # noqa: S101 - what a director is asked for
        return found

    async def _spoken(
        self,
        lesson: Lesson,
        who: Participant,
        chain: Sequence[Resolved],
        stop: Stop,
        charges: list[Charge],
    ) -> AsyncIterator[ChatEvent]:
        said = Telling(who)
        yield wire.Thinking(stage="agent_loading", agent_id=who.id)
        yield wire.AgentStart(
            message_id=said.id,
            agent_id=who.id,
            agent_name=who.name,
            agent_avatar=who.avatar,
            agent_color=who.colour,
        )
        heard: asyncio.Queue[list[Event] | TurnEnded] = asyncio.Queue(WAITING)
        speaking = asyncio.create_task(self._speak(lesson, who, chain, stop, heard))
        try:
            while not isinstance(news := await heard.get(), TurnEnded):
                for event in said.told(news):
                    yield event
        finally:
            stop.request() if not speaking.done() else None
            ended = await speaking
            charges.append(Charge(purpose="answer", model=ended.model, usage=ended.usage, cost=ended.cost))
        yield wire.AgentEnd(message_id=said.id, agent_id=who.id)
        if ended.status in {"stopped", "interrupted"}:
            yield wire.Error(message=INTERRUPTED)
            return
        if ended.fault is not None:
            yield wire.Error(message=ended.fault.message)
        yield said.done(lesson.state)

    async def _speak(
        self,
        lesson: Lesson,
        who: Participant,
        chain: Sequence[Resolved],
        stop: Stop,
        heard: "asyncio.Queue[list[Event] | TurnEnded]",
    ) -> TurnEnded:
        act_of = partial(Act, who.role, lesson.board)
        ended = await self._speaker.speak(
            Seat(who.id, "turn"), chain, lesson.request(who), stop, heard.put, act_of
        )
        await heard.put(ended)
        return ended


class Telling:
    """What one agent says and does, in the words of the wire."""

    def __init__(self, who: Participant) -> None:
        self.id = new_id("msg")
        self._who = who
        self._preview = ""
        self._acted = 0
        self._drawn: list[wire.Drawn] = []

    def told(self, events: Sequence[Event]) -> list[ChatEvent]:
        return [told for event in events if (told := self._told(event)) is not None]

    def done(self, state: DirectorState) -> wire.Done:
        response = wire.AgentResponse(
            agent_id=self._who.id,
            agent_name=self._who.name,
            content_preview=self._preview,
            action_count=self._acted,
            whiteboard_actions=tuple(self._drawn),
        )
        return wire.Done(
            total_actions=self._acted,
            total_agents=1,
            agent_had_content=bool(self._preview.strip()) or self._acted > 0,
            director_state=DirectorState(
                turn_count=state.turn_count + 1,
                agent_responses=(*state.agent_responses, response),
                whiteboard_ledger=(*state.whiteboard_ledger, *self._drawn),
            ),
        )

    def _told(self, event: Event) -> ChatEvent | None:
        match event:
            case TextDelta(text=text):
                if len(self._preview) < PREVIEW:
                    self._preview = (self._preview + text)[:PREVIEW]
                return wire.TextDelta(content=text, message_id=self.id)
            case ActionTaken(id=id, action=action):
                return self._took(id, name_of(action), params_of(action))
            case ActionDropped(name=name, reason=reason):
                return wire.ActionDropped(
                    action_name=name, reason=reason, agent_id=self._who.id, message_id=self.id
                )
        return None

    def _took(self, id: str, name: str, params: dict[str, object]) -> ChatEvent:
        self._acted += 1
        if name.startswith("wb_"):
            self._drawn.append(
                wire.Drawn(action_name=name, agent_id=self._who.id, agent_name=self._who.name, params=params)
            )
        return wire.ActionEvent(
            action_id=id, action_name=name, params=params, agent_id=self._who.id, message_id=self.id
        )


def _participant(agent: wire.Agent, model: str) -> Participant:
    return Participant(
        id=agent.id,
        name=agent.name,
        model=model,
        role=agent.role,
        priority=agent.priority,
        colour=agent.color,
        avatar=agent.avatar,
    )


def _message(one: wire.Said, known: dict[str, wire.Agent]) -> Message:
    agent = known.get(one.agent_id or "")
    lines = [
        Speech(part.content) if part.type == "text" else Deed(part.name, part.params) for part in one.parts
    ]
    spoken = one.content or " ".join(line.content for line in lines if isinstance(line, Speech))
    return Message(
        id="",
        discussion="",
        role=one.role,
        content=spoken,
        participant=one.agent_id if one.role == "assistant" else None,
        name=agent.name if agent else None,
        status="interrupted" if one.interrupted else "completed",
        script=msgspec.json.encode(lines).decode() if lines else None,
    )


def _spoke(one: wire.AgentResponse) -> Spoke:
    actions = [drawn.action_name for drawn in one.whiteboard_actions]
    others = ["action"] * (one.action_count - len(actions))
    return Spoke(
        participant=one.agent_id,
        name=one.agent_name,
        preview=one.content_preview[:PREVIEW],
        actions=(*actions, *others),
    )


def _replayed(ledger: Sequence[wire.Drawn]) -> Board:
    """Draw what the client says was drawn; what is no action any more is left out."""
    entries: list[Entry] = []
    for one in ledger:
        try:
            action = read_action(one.action_name, one.params, "teacher")
        except ActionRefused:
            continue
        entries.append(Entry(by=one.agent_id, action=action))
    return replayed(entries)
