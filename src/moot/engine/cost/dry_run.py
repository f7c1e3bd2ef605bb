"""A rehearsal: a mode is played with nobody being asked, to see which calls it makes and how much they read.

Pure. What is sent is written as in a real run in which everybody answers at the usual length, the answers differ,
nothing has to be shortened for a model, and all can be afforded.
"""

from collections.abc import Coroutine, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from moot.engine.turns.context import Manner
from moot.engine.turns.token_estimates import MOST, estimate
from moot.modes import mode_of
from moot.modes.table import Brief, T
from moot.prompts.builder import prompt
from moot.prompts.parts import Attached
from moot.prompts.tasks.task import Ask, Inquiry
from moot.prompts.templates import written
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import Purpose
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, Role
from moot.types.events import Finding, NoticeKind, Seat, TurnStatus
from moot.types.json_schema import schema
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import Plan

ANSWER = 600  # tokens of an answer, where its participant has no `max_tokens`
LONGEST = 4000  # of an answer that others read: a higher limit is for thoughts, and here would only make work
ROW = 200  # of minutes, for each participant
VERDICT = 100  # of a ranking, or of a look at whether the answers agree

RUN = "rehearsed"
BLANK = Message(id=RUN, discussion="", run=RUN, role="user", content="")


class Call(Struct, frozen=True):
    purpose: Purpose
    participant: str | None
    model: str
    input: int
    output: int


def rehearse(
    plan: Plan, message: Message | None, earlier: Sequence[Message], attached: Attached | None = None
) -> Sequence[Call]:
    """List the calls of a run that answers a message, or nobody, after all that was said earlier.

    `attached` are files, or something of their size, by the message they came with.
    """
    table = Rehearsal(plan, [*earlier, replace(message, run=RUN)] if message else earlier, attached or {})
    for _ in mode_of(plan)(table).__await__():
        raise AssertionError("a mode waits for nothing but the table, and here it need not wait")
    return table.calls


class Rehearsal:
    """The table of a rehearsal. What is said at it grows as in a real run; what is looked for is never found."""

    revision = 0
    run = RUN

    def __init__(self, plan: Plan, said: Sequence[Message], attached: Attached) -> None:
        self.plan = plan
        self.calls: list[Call] = []
        self.said = list(said)
        self._attached = attached

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """Nobody watches."""

    async def speak(
        self,
        who: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
        brief: Brief | None = None,
        acting: bool = False,
    ) -> TurnStatus:
        manner = Manner(view=view, instruction=instruction, brief=brief, acting=acting)
        self.said += self._turn(Seat(who.id, stage, round), manner)
        return "completed"

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
        who: Sequence[Participant] | None = None,
        brief: Brief | None = None,
        then: LaneStatus | None = None,
    ) -> dict[str, TurnStatus]:
        speaking = self.plan.speaking if who is None else who
        manner = Manner(view=view, brief=brief, then=then)
        turns = [self._turn(Seat(one.id, stage, round), manner) for one in speaking]
        self.said += [message for turn in turns for message in turn]
        return {one.id: "completed" for one in speaking}

    async def one_speaks(
        self,
        candidates: Sequence[Participant],
        stage: str,
        *,
        round: int = 0,
        view: View,
        brief: Brief,
        role: Role,
    ) -> TurnStatus:
        manner = Manner(view=view, brief=brief, role=role)
        self.said += self._turn(Seat(candidates[0].id, stage, round), manner)
        return "completed"

    async def find(self, purpose: Purpose, who: Participant, ask: Ask, *, round: int = 0) -> None:  # noqa: ARG002
        reads = estimate(_in_form(ask(self.said, RUN, MOST)), 0, self._rate(who)).input
        minutes = max(ANSWER, ROW * len(self.plan.speaking))
        says = VERDICT if purpose in {"gate", "ranking", "director"} else minutes
        asked = who.id if purpose == "ranking" else None  # all else is found out for the whole table
        self.calls.append(Call(purpose, asked, who.model, reads, says))

    async def conclude(self, finding: Finding) -> None:
        """Nothing follows: nothing was found."""

    async def settle(self, lanes: Sequence[Participant], kind: NoticeKind, words: str) -> None:
        """Nobody watches."""

    async def tell(self, kind: NoticeKind, words: str) -> None:
        """Nobody watches."""

    async def affords(
        self,
        what: str,  # noqa: ARG002 - whatever it is
        speakers: Sequence[Participant],  # noqa: ARG002
        brief: Brief | None = None,  # noqa: ARG002
        *,
        view: View = everything,  # noqa: ARG002
        keeping: Brief | None = None,  # noqa: ARG002
    ) -> bool:
        return True

    async def together(self, *doings: Coroutine[None, None, T]) -> Sequence[T]:
        return [await one for one in doings]

    def _turn(self, seat: Seat, manner: Manner) -> list[Message]:
        """Count what somebody reads, and return what the turn adds to what was said: a brief, if any, and an answer."""
        who = self.plan.participant(seat.participant)
        thread = who.id if manner.then is not None else None
        blank = replace(BLANK, stage=seat.stage, round=seat.round, thread=thread)
        turn: list[Message] = []
        if manner.brief is not None:
            told = manner.brief(self.said, RUN, who.id, MOST)
            turn.append(replace(blank, content=told, audience=(who.id,), hidden=True))
        seen = manner.view([*self.said, *turn], who.id, RUN)
        request = prompt(self.plan, who, seen, manner.instruction, self._attached)
        says = who.max_tokens or ANSWER
        purpose: Purpose = "synthesis" if seat.stage == "synthesis" else "answer"
        reads = estimate(request, 0, self._rate(who)).input
        self.calls.append(Call(purpose, who.id, who.model, reads, says))
        words = "x" * int(self._rate(who) * min(says, LONGEST))
        answer = replace(blank, role=manner.role, content=words, participant=who.id, name=who.name)
        return [*turn, answer]

    def _rate(self, who: Participant) -> float:
        return self.plan.measure(who.model).characters_per_token


def _in_form(inquiry: Inquiry) -> ModelRequest:
    """Add the form in which an answer is wanted: it is read, too."""
    form = msgspec.json.encode(schema(inquiry.answer)).decode()
    told = written("answer_in_json").replace("{schema}", form)
    return replace(inquiry.request, system=f"{inquiry.request.system}\n\n{told}")
