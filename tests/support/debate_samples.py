"""Sample results of a debate of three: two keep their positions, the third changes position."""

from moot.types.chunks import Usage
from moot.types.debate import (
    Claim,
    ClaimQuote,
    DebateClaims,
    DebateSummary,
    ParticipantSummary,
    PositionChange,
    RankedAnswer,
    Ranking,
    TableSummary,
)
from moot.types.events import (
    ClaimsExtracted,
    Event,
    RankingMade,
    RunEnded,
    StageStarted,
    SummaryMade,
    TurnEnded,
    VoteCast,
)
from tests.support.run_events import HOSTILE_TEXT, run_started, text_delta, turn_ended, turn_started


def participant_summary(participant: str, first: str, last: str, *, changed: bool = False) -> ParticipantSummary:
    return ParticipantSummary(
        participant=participant,
        initial_summary=first,
        refined_summary=last,
        changed_position=changed,
        key_points=(),
    )


def claim_quote(participant: str, quote: str) -> ClaimQuote:
    return ClaimQuote(participant=participant, quote=quote, message="msg_1")


SUMMARY = DebateSummary(
    original_prompt="Shall we split it?",
    overview="Two want to split,\n one does not.",
    cross_model=TableSummary(
        agreements=("The cost has to be measured.", "It is slow."),
        disagreements=("Beta would not split before.",),
        convergence_summary="Gamma was won over.",
    ),
    per_model=(
        participant_summary("alpha", "Split.", "Split, and measure."),
        participant_summary("beta", "", ""),
        participant_summary("gamma", "Wait.", "Split.", changed=True),
    ),
)
RANKING = Ranking(
    answers=(
        RankedAnswer(participant="gamma", points=2.0, votes=2),
        RankedAnswer(participant="alpha", points=0.5, votes=1),
        RankedAnswer(participant="beta", points=1.0, votes=2),
    ),
    votes={},
)
DEBATE_CLAIMS = DebateClaims(
    claims=(
        Claim(
            claim="The teams block each other.",
            supporters=(
                claim_quote("alpha", "they block each other"),
                claim_quote("gamma", "every  single week"),
            ),
        ),
        Claim(
            claim="The cost is not known.",
            supporters=(claim_quote("beta", "nobody has measured it"),),
            opponents=(claim_quote("alpha", "we measured it twice"),),
            minority=True,
        ),
    ),
    position_changes=(
        PositionChange(
            participant="gamma",
            before="Wait.",
            after="Split.",
            because_of="alpha",
            quote="I change my position.",
            message="msg_1",
        ),
        PositionChange(
            participant="beta", before="Keep", after="Wait", because_of=None, quote="Wait!", message="msg_1"
        ),
    ),
    dropped_quotes=2,
)
RUN_STARTED = run_started("a/one", "b/two", "c/three")
ANALYSIS_EVENTS: tuple[Event, ...] = (
    SummaryMade(cache_key="s", summary=SUMMARY, model="a/one", usage=Usage(100, 50), cost_usd=0.25),
    ClaimsExtracted(cache_key="l", claims=DEBATE_CLAIMS, model="a/one", usage=Usage(100, 60), cost_usd=0.5),
    VoteCast(
        cache_key="b1", participant="alpha", ranking=(("gamma",),), model="a/one", usage=Usage(30, 5), cost_usd=0.1
    ),
    VoteCast(
        cache_key="b2", participant="beta", ranking=(("gamma",),), model="b/two", usage=Usage(30, 5), cost_usd=0.1
    ),
    RankingMade(cache_key="r", ranking=RANKING),
)
HOSTILE_SUMMARY = SummaryMade(
    cache_key="h",
    summary=DebateSummary(
        original_prompt="",
        overview=HOSTILE_TEXT,
        cross_model=TableSummary(agreements=(HOSTILE_TEXT,), disagreements=(), convergence_summary=HOSTILE_TEXT),
        per_model=(participant_summary("alpha", HOSTILE_TEXT, HOSTILE_TEXT),),
    ),
)


def stage_started(stage: str) -> Event:
    return StageStarted(stage=stage)


def stage_turns(*participants: str, stage: str) -> list[Event]:
    """Return the events of a stage in which these participants speak at the same time."""
    lanes = [(turn_started(one), text_delta(one, f"{one}, {stage}.")) for one in participants]
    return [
        *(event for lane in lanes for event in lane),
        *(turn_ended(one, f"{one}, {stage}.") for one in participants),
    ]


def debate_events(*analyses: Event) -> list[Event]:
    """Return the events of a debate in which Beta fails at first, with its analyses."""
    failed: TurnEnded = turn_ended("beta", model="b/two", status="failed", finish=None)
    return [
        RUN_STARTED,
        stage_started("initial"),
        *stage_turns("alpha", "gamma", stage="first"),
        failed,
        stage_started("debate"),
        *stage_turns("alpha", "gamma", stage="second"),
        stage_started("synthesis"),
        *analyses[:1],
        *stage_turns("alpha", stage="together"),
        *analyses[1:],
        RunEnded(status="completed"),
    ]
