"""Builders and strategies for discussions with advisors, with runs in any mode."""

from hypothesis import strategies as st
from msgspec import Struct

from moot.types.discussions import Message, MessageRole
from moot.types.events import TurnStatus
from moot.types.model_info import ModelLimits
from moot.types.modes import AdvisorOptions
from moot.types.participants import Participant, make_participants
from moot.types.run_plan import RunPlan

NOON = 1_794_744_000.0  # 15 November 2026, 12:00 UTC
FIVE_MINUTES = 300.0
PARTICIPANTS = make_participants(("a/one", "b/two", "c/three"))
ALPHA, BETA, GAMMA = PARTICIPANTS


class DiscussionBuilder:
    """Builds the messages of a discussion one by one."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.run = ""

    def add_user_message(self, text: str, visible_to: tuple[str, ...] | None = None) -> "DiscussionBuilder":
        self.run = f"run_{len({one.run for one in self.messages}) + 1}"
        return self._add_message("user", text, visible_to=visible_to)

    def add_answer(
        self, participant: Participant, text: str, stage: str = "answer", **fields: object
    ) -> "DiscussionBuilder":
        return self._add_message(
            "assistant", text, participant=participant.id, name=participant.name, stage=stage, **fields
        )

    def add_failed_answer(self, participant: Participant) -> "DiscussionBuilder":
        return self.add_answer(participant, "", status="failed")

    def add_synthesis(self, participant: Participant, text: str) -> "DiscussionBuilder":
        return self._add_message(
            "synthesis", text, participant=participant.id, name=participant.name, stage="synthesis"
        )

    def add_instructions(self, participant: Participant, text: str, stage: str = "cross_talk") -> "DiscussionBuilder":
        return self._add_message("user", text, stage=stage, visible_to=(participant.id,), hidden=True)

    def add_system_message(self, text: str) -> "DiscussionBuilder":
        return self._add_message("system", text)

    def _add_message(self, role: MessageRole, text: str, **fields: object) -> "DiscussionBuilder":
        number = len(self.messages) + 1
        at = NOON + FIVE_MINUTES * (len({one.run for one in self.messages} | {self.run}) - 1)
        message = Message(
            id=f"msg_{number}",
            discussion="dis_1",
            seq=number,
            run=self.run,
            role=role,
            content=text,
            created_at=at,
            **fields,  # type: ignore[arg-type]
        )
        self.messages.append(message)
        return self


class AdvisorScenario(Struct, frozen=True):
    """A discussion, and the participant that answers now, in its last run."""

    messages: tuple[Message, ...]
    plan: RunPlan
    participant: Participant
    run: str

    @property
    def current_message(self) -> Message:
        return next(one for one in self.messages if one.run == self.run)


message_texts = st.sampled_from(["So.", "Well, that depends.", "x" * 400, "Yes" + " no" * 60])
statuses: st.SearchStrategy[TurnStatus] = st.sampled_from(["completed", "completed", "partial", "stopped", "failed"])
visible_to_values = st.sampled_from([None, None, None, ("alpha",), ("beta", "gamma")])


@st.composite
def advisor_scenarios(draw: st.DrawFn) -> AdvisorScenario:
    """Draw a discussion whose messages contain their numbers, and a plan with some prompt size."""
    discussion = DiscussionBuilder()
    for _ in range(draw(st.integers(0, 6))):
        audience = draw(visible_to_values)
        discussion.add_user_message(_number_text(discussion, draw(message_texts)), audience)
        for who in PARTICIPANTS:
            for stage in draw(st.sampled_from([(), ("answer",), ("answer", "cross_talk")])):
                status = draw(statuses)
                content = "" if status == "failed" else _number_text(discussion, draw(message_texts))
                discussion.add_answer(who, content, stage, status=status, visible_to=audience)
            if draw(st.booleans()):
                discussion.add_instructions(who, _number_text(discussion, "Told in secret."))
        if draw(st.booleans()):
            discussion.add_synthesis(ALPHA, _number_text(discussion, "All in all."))
        if draw(st.booleans()):
            discussion.add_system_message(_number_text(discussion, "The rules have changed."))
    who = draw(st.sampled_from(PARTICIPANTS))
    discussion.add_user_message(draw(st.sampled_from(["So.", _number_text(discussion, draw(message_texts))])))
    if draw(st.booleans()):  # the cross talk stage
        for one in PARTICIPANTS:
            discussion.add_answer(one, _number_text(discussion, draw(message_texts)))
        discussion.add_instructions(who, _number_text(discussion, "What the others said."))
    plan = RunPlan(
        mode="advisors",
        participants=PARTICIPANTS,
        personas=draw(st.sampled_from([{}, {who.id: "A carpenter."}])),
        advisors=AdvisorOptions(question_turns=draw(st.integers(0, 3)), max_prompt_tokens=draw(st.integers(300, 3000))),
        model_limits=draw(
            st.sampled_from(
                [
                    {},
                    {who.model: ModelLimits(characters_per_token=2.5)},
                    {who.model: ModelLimits(context_tokens=1500)},
                ]
            )
        ),
    )
    return AdvisorScenario(tuple(discussion.messages), plan, who, discussion.run)


def _number_text(builder: DiscussionBuilder, content: str) -> str:
    return f"«{len(builder.messages) + 1}» {content}"
