"""Strategies for discussions: participants, messages, runs, visibility and statuses."""

from itertools import combinations, product
from typing import get_args

from hypothesis import settings
from hypothesis import strategies as st
from msgspec import Struct

from moot.types.discussions import Message, MessageRole
from moot.types.events import TurnStatus
from moot.types.participants import Participant, make_participants
from moot.types.run_plan import RunPlan

# Drawing a whole discussion takes long: such tests have a third of the examples in the slow ring.
fewer_examples = settings(max_examples=max(20, settings().max_examples // 3))

RUNS = ("run_1", "run_2", "run_3")
MODES = ("single", "parallel", "consensus", "continue", "debate")


class DiscussionScenario(Struct, frozen=True):
    """Messages, and the participant and run from whose point of view they are read."""

    messages: tuple[Message, ...]
    plan: RunPlan
    participant: Participant
    run: str


CONTENT_TEMPLATES = ("{}", "So: {}\n", "Beta said:\n\n{}", "", " \n")
ROLE_CHOICES: tuple[tuple[MessageRole, bool], ...] = (
    ("user", False),
    ("assistant", True),
    ("assistant", True),
    ("synthesis", True),
    ("synthesis", False),
    ("system", False),
)
message_kinds = st.sampled_from(list(product(ROLE_CHOICES, get_args(TurnStatus), CONTENT_TEMPLATES, (True, False))))


@st.composite
def numbered_messages(draw: st.DrawFn, number: int, participants: tuple[Participant, ...]) -> Message:
    """Draw a message whose words no other message has, unless it is empty."""
    (role, has_speaker), status, content, hidden = draw(message_kinds)
    speaker = draw(st.sampled_from(participants)) if has_speaker else None
    return Message(
        id=f"msg_{number}",
        discussion="dis_1",
        seq=number,
        run=draw(st.sampled_from((None, *RUNS))),
        role=role,
        content=content.format(f"«{number}»"),
        participant=speaker.id if speaker else None,
        name=speaker.name if speaker else None,
        status=status,
        visible_to=draw(st.sampled_from(_visible_to_choices(participants))),
        hidden=hidden,
        thread=draw(st.sampled_from((None, None, *(who.id for who in participants)))),
    )


def _visible_to_choices(participants: tuple[Participant, ...]) -> list[tuple[str, ...] | None]:
    ids = [who.id for who in participants]
    return [None, *(some for size in range(len(ids) + 1) for some in combinations(ids, size))]


@st.composite
def discussion_scenarios(draw: st.DrawFn) -> DiscussionScenario:
    participants = make_participants(("a/one", "b/two", "a/one", "b/two"))[: draw(st.integers(1, 4))]
    who = draw(st.sampled_from(participants))
    plan = RunPlan(
        mode=draw(st.sampled_from(MODES)),
        participants=participants,
        personas=draw(st.sampled_from([{}, {who.id: "A carpenter."}, {who.id: " \n"}])),
        project=draw(st.sampled_from(["", "A project."])),
        language=draw(st.sampled_from([None, "en", "de"])),
    )
    messages = tuple(draw(numbered_messages(number, participants)) for number in range(1, draw(st.integers(1, 9))))
    return DiscussionScenario(messages, plan, who, draw(st.sampled_from(RUNS)))
