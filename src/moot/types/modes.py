"""Names, limits and options of the modes.

The API, the SDK, presets and stored discussions share one options type for each mode. Its fields are JSON keys.
"""

from collections.abc import Sequence, Sized
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.types.errors import UsageError
from moot.types.participants import Participant, participant_id

DEFAULT_EARLY_TURNS = 3
DEFAULT_ADVISOR_BUDGET = 150_000
ParticipantName = Annotated[str, Meta(min_length=1, max_length=60)]  # a name or an id; stored as an id


class DebateOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a debate."""

    lead: ParticipantName | None = None  # writes the synthesis; None: the first participant
    quorum: Annotated[int, Meta(ge=1, le=24)] | None = None  # answers that end a stage; None: all
    deadline: Annotated[float, Meta(gt=0, le=3600)] | None = None  # timeout of a stage in seconds; None: no timeout
    gate: bool = False  # skip the debate if the initial answers agree
    ranking: bool = True  # participants rank each other's answers
    ledger: bool = True  # extract a list of claims

    def for_participants(self, participants: Sequence[Participant]) -> "DebateOptions":
        """Return the options with the id of the lead. Raises `UsageError` if they do not match the participants."""
        lead = _find_id("debate.lead", self.lead, participants)
        if self.quorum is not None and self.quorum > len(participants):
            raise UsageError(f"debate.quorum: only {len(participants)} take part. Lower the quorum.")
        return replace(self, lead=lead)


class AdvisorOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of the advisors mode."""

    # First turns in which an advisor only asks questions; 0 disables this.
    early: Annotated[int, Meta(ge=0, le=100)] = DEFAULT_EARLY_TURNS
    # Maximum prompt size per advisor, in estimated tokens.
    budget: Annotated[int, Meta(ge=1000, le=2_000_000)] = DEFAULT_ADVISOR_BUDGET
    cross_talk: bool = False  # advisors respond to each other once
    synthesis: bool = False  # the first advisor writes a synthesis


DEFAULT_LESSON_TURNS, MAX_LESSON_TURNS = 10, 20
LESSON_STAGE = "turn"
USER_SPEAKS_NEXT, LESSON_ENDS = "USER", "END"  # values of `next` that are no participant id
PREVIEW_CHARACTERS = 100  # maximum length of a message preview


class DirectedOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Options of the directed mode."""

    turns: Annotated[int, Meta(ge=1, le=MAX_LESSON_TURNS)] = DEFAULT_LESSON_TURNS  # maximum agent turns per run
    trigger: ParticipantName | None = None  # speaks first; None: the director selects a participant
    topic: Annotated[str, Meta(max_length=2000)] = ""

    def for_participants(self, participants: Sequence[Participant]) -> "DirectedOptions":
        """Return the options with the id of the first speaker. Raises `UsageError` if that is no participant."""
        return replace(self, trigger=_find_id("directed.trigger", self.trigger, participants))


def _find_id(field: str, name: str | None, participants: Sequence[Participant]) -> str | None:
    known = [participant.id for participant in participants]
    id = participant_id(name) if name is not None else None
    if id is not None and id not in known:
        raise UsageError(f"{field}: there is no participant {name!r}. Name one of {', '.join(known)}.")
    return id


Rounds = Annotated[int, Meta(ge=1, le=10)]
ModeName = Literal["single", "parallel", "consensus", "debate", "advisors", "directed"]

SOLO_MODES: frozenset[ModeName] = frozenset(
    {"single", "parallel", "advisors", "directed"}
)  # accept a single participant
KNOWS_OTHERS_MODES: frozenset[ModeName] = frozenset(
    {"consensus", "debate", "advisors", "directed"}
)  # prompts list the other participants
WINDOWED_MODES: frozenset[str] = frozenset({"advisors"})  # prompts drop old messages that exceed the limit


def default_mode(participants: Sized) -> ModeName:
    return "single" if len(participants) == 1 else "parallel"


def check_mode(mode: str, participants: Sized) -> None:
    if mode not in SOLO_MODES and len(participants) < 2:
        raise UsageError(f"mode: {mode} takes at least two participants. Add one, or choose single.")
