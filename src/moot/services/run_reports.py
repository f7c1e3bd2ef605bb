"""How a run stands, put together: its lanes and where they begin, what was found in it, and what it cost."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from moot.store.billing.usage import Bills
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.findings import told_in
from moot.store.runs.lanes import Lanes
from moot.store.runs.runs import Runs
from moot.types.chunks import Usage
from moot.types.debate import Claim, Flip, Lane, Ranking, Summary
from moot.types.discussions import Message, Run
from moot.types.errors import NotFound
from moot.types.events import Agreed, Decided, Finding, LedgerMade, Notice, RankingMade, SummaryMade

F = TypeVar("F", bound=Finding)


class LaneReport(Lane, frozen=True, kw_only=True):
    """`anchors` are the ids of the messages that began each stage of this lane."""

    name: str
    model: str
    anchors: dict[str, str]


class Report(Run, frozen=True, kw_only=True):
    """A run with all that is known of it. Only a debate has lanes, and what is found in them; `decisions` are a director's.

    `unproven` counts quotes that are in no answer, and were dropped. `notices` are what was told of it as a whole. `cost` is in US dollars as far as prices are known; `unpriced` counts the calls whose price nobody knows.
    """

    lanes: tuple[LaneReport, ...]
    summary: Summary | None
    ranking: Ranking | None
    claims: tuple[Claim, ...]
    flips: tuple[Flip, ...]
    unproven: int
    agreed: Agreed | None
    decisions: tuple[Decided, ...]
    notices: tuple[Notice, ...]
    usage: Usage
    cost: float
    unpriced: int


class Thread(Struct, frozen=True, kw_only=True):
    """One participant's own thread in a run: what it was told, and what it answered."""

    lane: LaneReport
    messages: tuple[Message, ...]


class Reports:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._runs = Runs(database)
        self._lanes = Lanes(database)
        self._discussions = Discussions(database)
        self._bills = Bills(database)

    async def of(self, tenant: str, id: str) -> Report:
        run = await self._runs.get(tenant, id)
        told = await told_in(self._database, [id])
        found = [one for one in told if not isinstance(one, Notice)]
        ledger = _newest(LedgerMade, found)
        ranking, summary = _newest(RankingMade, found), _newest(SummaryMade, found)
        spent = await self._bills.of_run(id)
        return Report(
            **asdict(run),
            lanes=tuple(await self._reported(run)),
            summary=summary.summary if summary else None,
            ranking=ranking.ranking if ranking else None,
            claims=ledger.ledger.claims if ledger else (),
            flips=ledger.ledger.flips if ledger else (),
            unproven=ledger.ledger.unproven if ledger else 0,
            agreed=_newest(Agreed, found),
            decisions=tuple(sorted((one for one in found if isinstance(one, Decided)), key=_turn)),
            notices=tuple(one for one in told if isinstance(one, Notice) and one.participant is None),
            usage=spent.usage,
            cost=spent.cost,
            unpriced=spent.unpriced,
        )

    async def thread(self, tenant: str, id: str, participant: str) -> Thread:
        """Return a participant's own thread: the question, and all that is between it and the table."""
        run = await self._runs.get(tenant, id)
        lanes = {lane.participant: lane for lane in await self._reported(run)}
        if participant not in lanes:
            raise NotFound(f"Nobody called {participant!r} has a lane in this run.")
        said = await self._discussions.thread(id, participant, run.message)
        return Thread(lane=lanes[participant], messages=said)

    async def _reported(self, run: Run) -> list[LaneReport]:
        lanes = await self._lanes.of(run.id)
        if not lanes:
            return []
        plan = await self._runs.plan(run.id)
        briefs = await self._discussions.briefs(run.id)
        return [
            LaneReport(
                **asdict(lanes[who.id]),
                name=who.name,
                model=who.model,
                anchors=_anchors(run, who.id, briefs),
            )
            for who in plan.speaking
            if who.id in lanes
        ]


def _anchors(run: Run, participant: str, briefs: Iterable[Message]) -> dict[str, str]:
    """Find where each stage of a lane begins: first with the question itself, then with what it was told."""
    begun = {"initial": run.message} if run.message else {}
    return begun | {m.stage: m.id for m in briefs if m.thread == participant and m.stage}


def _turn(decided: Decided) -> int:
    return decided.turn


def _newest(kind: type[F], found: Sequence[Finding]) -> F | None:
    return max((one for one in found if isinstance(one, kind)), key=lambda one: one.seq, default=None)
