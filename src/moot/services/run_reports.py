"""Run reports: status, lanes, analysis results and cost of a run."""

from collections.abc import Iterable
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import asdict

from moot.store.runs.event_log import load_results_and_notices
from moot.store.stores import Stores
from moot.types.chunks import Usage
from moot.types.debate import Claim, DebateClaims, DebateSummary, Lane, PositionChange, Ranking
from moot.types.discussions import Message, Run
from moot.types.errors import NotFound
from moot.types.events import AgreementChecked, Notice, SpeakerSelected
from moot.types.run_state import fold_events


class LaneReport(Lane, frozen=True, kw_only=True):
    name: str
    model: str
    anchors: dict[str, str]  # by stage: id of the message that starts it


class RunReport(Run, frozen=True, kw_only=True):
    """A run with its results. Lanes and their analyses exist only in a debate."""

    lanes: tuple[LaneReport, ...]
    summary: DebateSummary | None
    ranking: Ranking | None
    claims: tuple[Claim, ...]
    position_changes: tuple[PositionChange, ...]
    dropped_quotes: int  # quotes that were dropped, because no answer contains them
    agreement: AgreementChecked | None  # result of the agreement check
    decisions: tuple[SpeakerSelected, ...]  # of the director, by turn
    notices: tuple[Notice, ...]  # about the whole run, not about one participant
    usage: Usage
    cost_usd: float  # US dollars, without calls of unknown price
    unpriced_calls: int  # number of calls of unknown price


class LaneThread(Struct, frozen=True, kw_only=True):
    """Instructions and answers of one participant in a run."""

    lane: LaneReport
    messages: tuple[Message, ...]


class RunReports:
    def __init__(self, stores: Stores) -> None:
        self._database = stores.database
        self._runs = stores.runs
        self._lanes = stores.lanes
        self._discussions = stores.discussions
        self._usage_reports = stores.usage_reports

    async def get_report(self, tenant: str, id: str) -> RunReport:
        run = await self._runs.get_run(tenant, id)
        state = fold_events(await load_results_and_notices(self._database, [id]))
        claims = state.claims or DebateClaims(claims=(), position_changes=())
        spending = await self._usage_reports.run_spending(id)
        return RunReport(
            **asdict(run),
            lanes=tuple(await self._lane_reports(run)),
            summary=state.summary,
            ranking=state.ranking,
            claims=claims.claims,
            position_changes=claims.position_changes,
            dropped_quotes=claims.dropped_quotes,
            agreement=state.agreement,
            decisions=tuple(
                sorted((one for one in state.analyses if isinstance(one, SpeakerSelected)), key=attrgetter("turn"))
            ),
            notices=tuple(one for one in state.notices if one.participant is None),
            usage=spending.usage,
            cost_usd=spending.cost_usd,
            unpriced_calls=spending.unpriced_calls,
        )

    async def lane_thread(self, tenant: str, id: str, participant: str) -> LaneThread:
        """Raises NotFound if the participant has no lane in this run."""
        run = await self._runs.get_run(tenant, id)
        lanes = {lane.participant: lane for lane in await self._lane_reports(run)}
        if participant not in lanes:
            raise NotFound(f"There is no lane {participant!r} in this run.")
        messages = await self._discussions.participant_thread(id, participant, run.message)
        return LaneThread(lane=lanes[participant], messages=messages)

    async def _lane_reports(self, run: Run) -> list[LaneReport]:
        lanes = await self._lanes.lanes_by_participant(run.id)
        if not lanes:
            return []
        plan = await self._runs.get_plan(run.id)
        instructions = await self._discussions.run_instructions(run.id)
        return [
            LaneReport(
                **asdict(lanes[who.id]),
                name=who.name,
                model=who.model,
                anchors=_stage_anchors(run, who.id, instructions),
            )
            for who in plan.responding_participants
            if who.id in lanes
        ]


def _stage_anchors(run: Run, participant: str, instructions: Iterable[Message]) -> dict[str, str]:
    """The initial stage starts with the user's message, later stages with their instructions."""
    initial = {"initial": run.message} if run.message else {}
    return initial | {m.stage: m.id for m in instructions if m.thread == participant and m.stage}
