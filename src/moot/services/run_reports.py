"""How a run stands, put together: its lanes and where they begin, what was found in it, and what it cost."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.findings import load_results_and_notices
from moot.store.runs.lanes import Lanes
from moot.store.runs.runs import Runs
from moot.types.chunks import Usage
from moot.types.debate import Claim, DebateSummary, Lane, PositionChange, Ranking
from moot.types.discussions import Message, Run
from moot.types.errors import NotFound
from moot.types.events import Agreed, AnalysisResult, Decided, LedgerMade, Notice, RankingMade, SummaryMade

F = TypeVar("F", bound=AnalysisResult)


class LaneReport(Lane, frozen=True, kw_only=True):
    """`anchors` are the ids of the messages that began each stage of this lane."""

    name: str
    model: str
    anchors: dict[str, str]


class RunReport(Run, frozen=True, kw_only=True):
    """A run with all that is known of it. Only a debate has lanes, and what is found in them; `decisions` are a director's.

    `unproven` counts quotes that are in no answer, and were dropped. `notices` are what was told of it as a whole. `cost` is in US dollars as far as prices are known; `unpriced` counts the calls whose price nobody knows.
    """

    lanes: tuple[LaneReport, ...]
    summary: DebateSummary | None
    ranking: Ranking | None
    claims: tuple[Claim, ...]
    flips: tuple[PositionChange, ...]
    unproven: int
    agreed: Agreed | None
    decisions: tuple[Decided, ...]
    notices: tuple[Notice, ...]
    usage: Usage
    cost: float
    unpriced: int


class LaneThread(Struct, frozen=True, kw_only=True):
    """One participant's own thread in a run: what it was told, and what it answered."""

    lane: LaneReport
    messages: tuple[Message, ...]


class RunReports:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._runs = Runs(database)
        self._lanes = Lanes(database)
        self._discussions = Discussions(database)
        self._usage_reports = UsageReports(database)

    async def get_report(self, tenant: str, id: str) -> RunReport:
        run = await self._runs.get_run(tenant, id)
        told = await load_results_and_notices(self._database, [id])
        found = [one for one in told if not isinstance(one, Notice)]
        ledger = _newest_result(LedgerMade, found)
        ranking, summary = _newest_result(RankingMade, found), _newest_result(SummaryMade, found)
        spent = await self._usage_reports.run_spending(id)
        return RunReport(
            **asdict(run),
            lanes=tuple(await self._lane_reports(run)),
            summary=summary.summary if summary else None,
            ranking=ranking.ranking if ranking else None,
            claims=ledger.ledger.claims if ledger else (),
            flips=ledger.ledger.flips if ledger else (),
            unproven=ledger.ledger.unproven if ledger else 0,
            agreed=_newest_result(Agreed, found),
            decisions=tuple(sorted((one for one in found if isinstance(one, Decided)), key=_turn_number)),
            notices=tuple(one for one in told if isinstance(one, Notice) and one.participant is None),
            usage=spent.usage,
            cost=spent.cost,
            unpriced=spent.unpriced,
        )

    async def lane_thread(self, tenant: str, id: str, participant: str) -> LaneThread:
        """Return a participant's own thread: the question, and all that is between it and the table."""
        run = await self._runs.get_run(tenant, id)
        lanes = {lane.participant: lane for lane in await self._lane_reports(run)}
        if participant not in lanes:
            raise NotFound(f"Nobody called {participant!r} has a lane in this run.")
        said = await self._discussions.participant_thread(id, participant, run.message)
        return LaneThread(lane=lanes[participant], messages=said)

    async def _lane_reports(self, run: Run) -> list[LaneReport]:
        lanes = await self._lanes.lanes_by_participant(run.id)
        if not lanes:
            return []
        plan = await self._runs.get_plan(run.id)
        briefs = await self._discussions.run_instructions(run.id)
        return [
            LaneReport(
                **asdict(lanes[who.id]),
                name=who.name,
                model=who.model,
                anchors=_stage_anchors(run, who.id, briefs),
            )
            for who in plan.responding_participants
            if who.id in lanes
        ]


def _stage_anchors(run: Run, participant: str, instructions: Iterable[Message]) -> dict[str, str]:
    """Find where each stage of a lane begins: first with the question itself, then with what it was told."""
    begun = {"initial": run.message} if run.message else {}
    return begun | {m.stage: m.id for m in instructions if m.thread == participant and m.stage}


def _turn_number(decision: Decided) -> int:
    return decision.turn


def _newest_result(kind: type[F], results: Sequence[AnalysisResult]) -> F | None:
    return max((one for one in results if isinstance(one, kind)), key=lambda one: one.seq, default=None)
