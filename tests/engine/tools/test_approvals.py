import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.engine.tools.approval_policy import Wanted
from moot.engine.tools.approvals import Answers, Asking, how_to_allow
from moot.store.database import Database
from moot.store.runs.approvals import Permissions
from moot.store.runs.runs import Claim, Runs
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.events import ApprovalWanted, Seat
from tests.store.people import ANNA, discuss, settled
from tests.store.running import claim, start

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
WANTED = Wanted(call_id="call_1", tool="notes/write", arguments="{}", seat=Seat("alpha"))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with settled("sqlite", tmp_path) as database:
        yield database


@pytest.fixture
async def claimed(database: Database) -> Claim:
    return await claim(database, (await start(database, await discuss(database))).id)


async def test_an_answer_is_heard_by_whoever_waits_for_it(database: Database, claimed: Claim) -> None:
    permissions, answers = Permissions(database), Answers()
    asking = Asking(permissions, claimed, answers)
    assert await asking.standing(WANTED) == "wanted"
    await asking.ask(WANTED)
    waiting = asyncio.create_task(asking.answer(WANTED))
    await asyncio.sleep(0)
    answers.hear((await Runs(database).wishes(claimed.run)).answers)
    assert not waiting.done()
    await permissions.answer(CALLER, claimed.run, "call_1", "always")
    answers.hear((await Runs(database).wishes(claimed.run)).answers)
    assert await waiting == "always"
    assert await asking.standing(WANTED) == "given"


async def test_an_answer_that_comes_before_anybody_waits_is_not_lost(
    database: Database, claimed: Claim
) -> None:
    answers = Answers()
    asking = Asking(Permissions(database), claimed, answers)
    await asking.ask(WANTED)
    answers.hear({"call_1": "refuse"})
    assert await asking.answer(WANTED) == "refuse"


async def test_whoever_waits_no_more_withdraws_the_question(database: Database, claimed: Claim) -> None:
    permissions = Permissions(database)
    asking = Asking(permissions, claimed, Answers())
    await asking.ask(WANTED)
    waiting = asyncio.create_task(asking.answer(WANTED))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(Conflict):
        await permissions.answer(CALLER, claimed.run, "call_1", "allow")


async def test_another_attempt_at_the_turn_asks_again(database: Database, claimed: Claim) -> None:
    permissions = Permissions(database)
    first = Asking(permissions, claimed, Answers())
    await first.begin(WANTED)
    assert await first.standing(WANTED) == "wanted"
    assert await Asking(permissions, claimed, Answers()).standing(WANTED) == "again"


def test_who_wants_what_and_where_it_is_answered() -> None:
    wanted = ApprovalWanted(
        participant="alpha",
        stage="answer",
        round=0,
        run="run_1",
        call_id="call_2",
        name="notes/x",
        seconds=600,
    )
    assert how_to_allow("Alpha", wanted) == (
        "Alpha wants to call notes/x, and waits for consent: allow or refuse it on the page, or by "
        'POST /api/runs/run_1/approvals/call_2 with {"answer": "allow"} or {"answer": "refuse"}.'
    )
