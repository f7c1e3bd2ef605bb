"""The modes: their names, what each one is, and their options.

The API, the SDK, presets and stored discussions share one options type for each mode. Its fields are JSON keys.
"""

from collections.abc import Mapping, Sequence, Sized
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.types.errors import UsageError
from moot.types.participants import LessonRole, Participant, participant_id

DEFAULT_QUESTION_TURNS = 3
DEFAULT_MAX_PROMPT_TOKENS = 150_000
ParticipantName = Annotated[str, Meta(min_length=1, max_length=60)]  # a name or an id; stored as an id


class DebateOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a debate."""

    lead: ParticipantName | None = None  # writes the synthesis; None: the first participant
    quorum: Annotated[int, Meta(ge=1, le=24)] | None = None  # answers that end a stage; None: all
    deadline: Annotated[float, Meta(gt=0, le=3600)] | None = None  # timeout of a stage in seconds; None: no timeout
    skip_if_agreed: bool = False  # skip the debate if the initial answers agree
    ranking: bool = True  # participants rank each other's answers
    claims: bool = True  # extract a list of claims

    def for_participants(self, participants: Sequence[Participant]) -> "DebateOptions":
        """Return the options with the id of the lead. Raises `UsageError` if they do not match the participants."""
        lead = _find_id("debate.lead", self.lead, participants)
        if self.quorum is not None and self.quorum > len(participants):
            raise UsageError(f"debate.quorum: only {len(participants)} take part. Lower the quorum.")
        return replace(self, lead=lead)


class AdvisorOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of the advisors mode."""

    # First turns in which an advisor only asks questions; 0 disables this.
    question_turns: Annotated[int, Meta(ge=0, le=100)] = DEFAULT_QUESTION_TURNS
    # Maximum prompt size per advisor, in estimated tokens.
    max_prompt_tokens: Annotated[int, Meta(ge=1000, le=2_000_000)] = DEFAULT_MAX_PROMPT_TOKENS
    cross_talk: bool = False  # advisors respond to each other once
    synthesis: bool = False  # the first advisor writes a synthesis


DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS = 10, 20
LESSON_STAGE = "turn"
USER_SPEAKS_NEXT, LESSON_ENDS = "USER", "END"  # values of `next` that are no participant id
PREVIEW_CHARACTERS = 100  # maximum length of a message preview


class DirectedOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of the directed mode."""

    turns: Annotated[int, Meta(ge=1, le=MAX_LESSON_TURNS)] = DEFAULT_LESSON_TURNS  # maximum agent turns per run
    first_speaker: ParticipantName | None = None  # speaks first; None: the director selects a participant
    topic: Annotated[str, Meta(max_length=2000)] = ""

    def for_participants(self, participants: Sequence[Participant]) -> "DirectedOptions":
        """Return the options with the id of the first speaker. Raises `UsageError` if that is no participant."""
        return replace(self, first_speaker=_find_id("directed.first_speaker", self.first_speaker, participants))


def _find_id(field: str, name: str | None, participants: Sequence[Participant]) -> str | None:
    known = [participant.id for participant in participants]
    id = participant_id(name) if name is not None else None
    if id is not None and id not in known:
        raise UsageError(f"{field}: there is no participant {name!r}. Name one of {', '.join(known)}.")
    return id


Rounds = Annotated[int, Meta(ge=1, le=10)]
ModeOptions = DebateOptions | AdvisorOptions | DirectedOptions
ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]
MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)


class ModeSpec(Struct, frozen=True, kw_only=True):
    """What a mode is. Other modules read these fields, and do not compare the name of a mode.

    The program of the mode is in `moot.modes`.
    """

    title: str = ""  # on the page, like `summary`; empty if users cannot select the mode
    summary: str = ""
    page_layout: Literal["answers", "rounds", "debate", "advice", "lesson"]  # how the page shows a run
    stages: tuple[str, ...]  # in order; an option with the name of a stage turns it on or off
    identity: str  # prompt template that explains to a participant its part
    options: type[ModeOptions] | None = None  # plans and discussions have them in the field with the mode's name
    min_participants: int = 1
    only_first: bool = False  # only the first addressed participant answers
    simultaneous: bool = False  # all participants start at once
    knows_others: bool = False  # prompts list the other participants, also if the run has no discussion
    in_rounds: bool = False  # repeats its stage `rounds` times
    in_lanes: bool = False  # each participant has a lane, which a user can stop and retry
    is_costly: bool = False  # the rate limit of debates applies
    private_threads: bool = False  # with the user, cut to the context window; inactive participants do not answer
    has_roles: bool = False  # each participant has a lesson role
    has_whiteboard: bool = False  # answers contain actions on the whiteboard
    # How a run continues without a user message. The page does not offer "never"; the API then continues in turn.
    continues: Literal["in_turn", "as_itself", "never"] = "in_turn"


MODES: Mapping[str, ModeSpec] = {
    "single": ModeSpec(
        title="Single",
        summary="You and one model, back and forth.",
        page_layout="answers",
        stages=("answer",),
        identity="called_upon",
        only_first=True,
    ),
    "parallel": ModeSpec(
        title="Side by side",
        summary="All answer at once, without seeing each other.",
        page_layout="answers",
        stages=("answer",),
        identity="side_by_side",
        simultaneous=True,
    ),
    "consensus": ModeSpec(
        title="Consensus",
        summary="They answer in rounds, and read each other in between.",
        page_layout="rounds",
        stages=("round",),
        identity="roundtable",
        min_participants=2,
        knows_others=True,
        in_rounds=True,
    ),
    "debate": ModeSpec(
        title="Debate",
        summary="Each answers alone, then argues with the others; one sums up.",
        page_layout="debate",
        stages=("initial", "debate", "synthesis"),
        identity="debating",
        options=DebateOptions,
        min_participants=2,
        simultaneous=True,
        knows_others=True,
        in_lanes=True,
        is_costly=True,
    ),
    "advisors": ModeSpec(
        title="Advisors",
        summary="Each talks with you in its own thread, and asks before it advises.",
        page_layout="advice",
        stages=("answer", "cross_talk", "synthesis"),
        identity="advisor",
        options=AdvisorOptions,
        simultaneous=True,
        knows_others=True,
        private_threads=True,
        continues="never",
    ),
    "directed": ModeSpec(
        title="Lesson",
        summary="A director picks one speaker at a time; all share a whiteboard.",
        page_layout="lesson",
        stages=(LESSON_STAGE,),
        identity="in_lesson",
        options=DirectedOptions,
        knows_others=True,
        has_roles=True,
        has_whiteboard=True,
        continues="as_itself",
    ),
    "continue": ModeSpec(  # not a `ModeName`: a run has it, a discussion does not
        page_layout="rounds",
        stages=("continue",),
        identity="roundtable",
    ),
}

STAGE_TITLES: Mapping[str, str] = {
    "answer": "Answers",
    "round": "Round {number}",
    "initial": "First answers",
    "debate": "Debate",
    "cross_talk": "To each other",
    "synthesis": "Synthesis",
    LESSON_STAGE: "Turn {number}",
    "continue": "Continued",
}
# After the name of a participant, to tell its turns apart. The other stages need none.
TURN_LABELS: Mapping[str, str] = {
    "round": "round {number}",
    "initial": "first answer",
    "debate": "having read the others",
    "cross_talk": "to the others",
}


def stage_title(stage: str, round: int) -> str:
    """Round numbers in titles start at 1."""
    return STAGE_TITLES.get(stage, stage).format(number=round + 1)


def default_mode(participants: Sized) -> ModeName:
    return "single" if len(participants) == 1 else "parallel"


def adapt_mode(mode: str, participants: Sized) -> str:
    """Return the mode, or the default mode if it suits this number of participants better."""
    is_default = mode in {"single", "parallel"}
    return default_mode(participants) if is_default or len(participants) < MODES[mode].min_participants else mode


def check_mode(mode: str, participants: Sized) -> None:
    if len(participants) < MODES[mode].min_participants:
        raise UsageError(f"mode: {mode} takes at least two participants. Add one, or choose single.")


def assign_lesson_roles(participants: Sequence[Participant], mode: str | None) -> tuple[Participant, ...]:
    """Assign missing roles in a lesson: the first is the teacher if there is none, others are students."""
    if mode is None or not MODES[mode].has_roles:
        return tuple(participants)
    has_teacher = any(who.role == "teacher" for who in participants)
    first_role: LessonRole = "student" if has_teacher else "teacher"
    return tuple(
        replace(who, role=who.role or ("student" if position else first_role))
        for position, who in enumerate(participants)
    )
