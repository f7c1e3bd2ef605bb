"""What is found in a debate of three, said briefly: two keep their positions, the third is won over."""

from moot.types.chunks import Usage
from moot.types.debate import Claim, CrossModel, Flip, Ledger, PerModel, Place, Ranking, Summary, Voice
from moot.types.events import (
    BallotCast,
    Event,
    LedgerMade,
    RankingMade,
    RunEnded,
    StageStarted,
    SummaryMade,
    TurnEnded,
)
from tests.terminal.dialogue import HOSTILE, begins, ends, says, sits_down


def row(who: str, first: str, last: str, *, changed: bool = False) -> PerModel:
    return PerModel(
        participant=who, initial_summary=first, refined_summary=last, changed_position=changed, key_points=()
    )


def voice(who: str, quote: str) -> Voice:
    return Voice(participant=who, quote=quote, message="msg_1")


SUMMARY = Summary(
    original_prompt="Shall we split it?",
    overview="Two want to split,\n one does not.",
    cross_model=CrossModel(
        agreements=("The cost has to be measured.", "It is slow."),
        disagreements=("Beta would not split before.",),
        convergence_summary="Gamma was won over.",
    ),
    per_model=(
        row("alpha", "Split.", "Split, and measure."),
        row("beta", "", ""),
        row("gamma", "Wait.", "Split.", changed=True),
    ),
)
RANKING = Ranking(
    places=(
        Place(participant="gamma", points=2.0, votes=2),
        Place(participant="alpha", points=0.5, votes=1),
        Place(participant="beta", points=1.0, votes=2),
    ),
    ballots={},
)
LEDGER = Ledger(
    claims=(
        Claim(
            claim="The teams block each other.",
            supporters=(voice("alpha", "they block each other"), voice("gamma", "every  single week")),
        ),
        Claim(
            claim="The cost is not known.",
            supporters=(voice("beta", "nobody has measured it"),),
            opponents=(voice("alpha", "we measured it twice"),),
            minority=True,
        ),
    ),
    flips=(
        Flip(
            participant="gamma",
            before="Wait.",
            after="Split.",
            because_of="alpha",
            quote="I change my position.",
            message="msg_1",
        ),
        Flip(
            participant="beta", before="Keep", after="Wait", because_of=None, quote="Wait!", message="msg_1"
        ),
    ),
    unproven=2,
)
SITTING = sits_down("a/one", "b/two", "c/three")
FOUND: tuple[Event, ...] = (
    SummaryMade(basis="s", summary=SUMMARY, model="a/one", usage=Usage(100, 50), cost=0.25),
    LedgerMade(basis="l", ledger=LEDGER, model="a/one", usage=Usage(100, 60), cost=0.5),
    BallotCast(
        basis="b1", participant="alpha", order=(("gamma",),), model="a/one", usage=Usage(30, 5), cost=0.1
    ),
    BallotCast(
        basis="b2", participant="beta", order=(("gamma",),), model="b/two", usage=Usage(30, 5), cost=0.1
    ),
    RankingMade(basis="r", ranking=RANKING),
)
HOSTILE_SUMMARY = SummaryMade(
    basis="h",
    summary=Summary(
        original_prompt="",
        overview=HOSTILE,
        cross_model=CrossModel(agreements=(HOSTILE,), disagreements=(), convergence_summary=HOSTILE),
        per_model=(row("alpha", HOSTILE, HOSTILE),),
    ),
)


def opens_stage(stage: str) -> Event:
    return StageStarted(stage=stage)


def spoken(*who: str, stage: str) -> list[Event]:
    """Let some begin, speak and end a stage at the same time."""
    lanes = [(begins(one), says(one, f"{one}, {stage}.")) for one in who]
    return [*(event for lane in lanes for event in lane), *(ends(one, f"{one}, {stage}.") for one in who)]


def debated(*found: Event) -> list[Event]:
    """A debate in which Beta fails at first, with what is found in it."""
    failed: TurnEnded = ends("beta", model="b/two", status="failed", finish=None)
    return [
        SITTING,
        opens_stage("initial"),
        *spoken("alpha", "gamma", stage="first"),
        failed,
        opens_stage("debate"),
        *spoken("alpha", "gamma", stage="second"),
        opens_stage("synthesis"),
        *found[:1],
        *spoken("alpha", stage="together"),
        *found[1:],
        RunEnded(status="completed"),
    ]
