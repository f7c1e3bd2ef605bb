"""Discussions with advisors, told briefly, and at random: run after run, whatever mode each of them was in."""

from hypothesis import strategies as st
from msgspec import Struct

from moot.types.discussions import Message, MessageRole
from moot.types.events import TurnStatus
from moot.types.model_info import ModelLimits
from moot.types.modes import Advisors
from moot.types.participants import Participant, make_participants
from moot.types.run_plan import RunPlan

NOON = 1_794_744_000.0  # 15 November 2026, 12:00 UTC
FIVE_MINUTES = 300.0
PARTICIPANTS = make_participants(("a/one", "b/two", "c/three"))
ALPHA, BETA, GAMMA = PARTICIPANTS


class Told:
    """Writes a discussion down as it goes on."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.run = ""

    def asks(self, words: str, audience: tuple[str, ...] | None = None) -> "Told":
        self.run = f"run_{len({one.run for one in self.said}) + 1}"
        return self._add("user", words, audience=audience)

    def says(self, who: Participant, words: str, stage: str = "answer", **more: object) -> "Told":
        return self._add("assistant", words, participant=who.id, name=who.name, stage=stage, **more)

    def fails(self, who: Participant) -> "Told":
        return self.says(who, "", status="failed")

    def sums_up(self, who: Participant, words: str) -> "Told":
        return self._add("synthesis", words, participant=who.id, name=who.name, stage="synthesis")

    def briefs(self, who: Participant, words: str, stage: str = "cross_talk") -> "Told":
        return self._add("user", words, stage=stage, audience=(who.id,), hidden=True)

    def notes(self, words: str) -> "Told":
        return self._add("system", words)

    def _add(self, role: MessageRole, words: str, **more: object) -> "Told":
        number = len(self.said) + 1
        at = NOON + FIVE_MINUTES * (len({one.run for one in self.said} | {self.run}) - 1)
        message = Message(
            id=f"msg_{number}",
            discussion="dis_1",
            number=number,
            run=self.run,
            role=role,
            content=words,
            created_at=at,
            **more,  # type: ignore[arg-type]
        )
        self.said.append(message)
        return self


class Consulted(Struct, frozen=True):
    """A discussion, and who is asked now, in its last run."""

    said: tuple[Message, ...]
    plan: RunPlan
    who: Participant
    run: str

    @property
    def current(self) -> Message:
        return next(one for one in self.said if one.run == self.run)


words = st.sampled_from(["So.", "Well, that depends.", "x" * 400, "Yes" + " no" * 60])
statuses: st.SearchStrategy[TurnStatus] = st.sampled_from(
    ["completed", "completed", "partial", "stopped", "failed"]
)
audiences = st.sampled_from([None, None, None, ("alpha",), ("beta", "gamma")])


@st.composite
def consultations(draw: st.DrawFn) -> Consulted:
    """Draw a discussion whose every word is marked with its number, and a plan that leaves more or less room."""
    told = Told()
    for _ in range(draw(st.integers(0, 6))):
        audience = draw(audiences)
        told.asks(_marked(told, draw(words)), audience)
        for who in PARTICIPANTS:
            for stage in draw(st.sampled_from([(), ("answer",), ("answer", "cross_talk")])):
                status = draw(statuses)
                content = "" if status == "failed" else _marked(told, draw(words))
                told.says(who, content, stage, status=status, audience=audience)
            if draw(st.booleans()):
                told.briefs(who, _marked(told, "Told in secret."))
        if draw(st.booleans()):
            told.sums_up(ALPHA, _marked(told, "All in all."))
        if draw(st.booleans()):
            told.notes(_marked(told, "The rules have changed."))
    who = draw(st.sampled_from(PARTICIPANTS))
    told.asks(draw(st.sampled_from(["So.", _marked(told, draw(words))])))
    if draw(st.booleans()):  # they talk to each other now
        for one in PARTICIPANTS:
            told.says(one, _marked(told, draw(words)))
        told.briefs(who, _marked(told, "What the others said."))
    plan = RunPlan(
        mode="advisors",
        participants=PARTICIPANTS,
        personas=draw(st.sampled_from([{}, {who.id: "A carpenter."}])),
        advisors=Advisors(early=draw(st.integers(0, 3)), budget=draw(st.integers(300, 3000))),
        measures=draw(
            st.sampled_from(
                [
                    {},
                    {who.model: ModelLimits(characters_per_token=2.5)},
                    {who.model: ModelLimits(context=1500)},
                ]
            )
        ),
    )
    return Consulted(tuple(told.said), plan, who, told.run)


def _marked(told: Told, content: str) -> str:
    return f"«{len(told.said) + 1}» {content}"
