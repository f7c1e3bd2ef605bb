"""References to other discussions: summed up once, before anybody is asked, paid once, and never fatal."""

import asyncio
from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from sqlalchemy import func, select, update

from moot.engine.runs.references import ReferenceResolver, load_reference_summaries
from moot.engine.runs.transcript import StoredTranscript
from moot.providers.scripted.scripts import Script, last_user_text
from moot.services.prompt_replay import PromptReplay
from moot.store.billing.budgets import Budgets
from moot.store.discussions.discussions import Discussions, add_message
from moot.store.library.summaries import DiscussionSummaries
from moot.store.runs.runs import RunLease
from moot.store.schema import charge as charges
from moot.store.schema import message as messages
from moot.store.schema import recap as recaps
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge, Payer
from moot.types.chunks import Text, Usage
from moot.types.discussions import Discussion, Message, Run
from moot.types.events import Notice, Recapped, RunStarted, TurnStarted
from moot.types.knowledge import DiscussionSummary
from moot.types.primitives import new_id
from tests.engine.tables import SPEAKER
from tests.engine.works import Works
from tests.store.people import ANNA, BERT, discuss
from tests.store.running import claim, start

pytestmark = pytest.mark.asyncio(loop_scope="module")

RECAP = "Those who read that message were not here"
POINTS = msgspec.json.encode({"points": ["Round tables won.", "Legs are open.", "Oak costs 90."]}).decode()
SAGE = Script(answer="{question}", when={RECAP: POINTS}, price=1.0)
numbers = count()


@pytest.fixture(autouse=True)
def sage(works: Works) -> None:
    works.provider._scripts.by_name["sage"] = SAGE
    works.provider.asked.clear()


def fresh(word: str = "Tables") -> str:
    """A title that no other test has."""
    return f"{word} {next(numbers)}"


async def referring(works: Works, words: str, *, model: str = "scripted/sage") -> Run:
    """Store a discussion whose first message refers to others."""
    return await start(works.database, await discuss(works.database, model=model), words=words)


async def ran(works: Works, words: str, *, model: str = "scripted/sage") -> Run:
    run = await referring(works, words, model=model)
    works.runs.start_run(run.id)
    await works.over(run)
    return run


def summed_up(works: Works) -> list[str]:
    """What was read by those who summed up."""
    return [last_user_text(one) for one in works.provider.asked if RECAP in one.system]


async def notices(works: Works, run: Run, kind: str) -> list[str]:
    return [e.message for e in await works.events(run) if isinstance(e, Notice) and e.kind == kind]


async def told(works: Works, run: Run) -> list[Recapped]:
    return [event for event in await works.events(run) if isinstance(event, Recapped)]


async def paid(works: Works, run: Run) -> int:
    query = select(func.count()).where(charges.c.run == run.id, charges.c.purpose == "recap")
    async with works.database.read() as connection:
        return int((await connection.execute(query)).scalar_one())


async def record(works: Works, run: Run) -> tuple[RunLease, StoredTranscript]:
    """Take a run up as a worker does that is about to die."""
    mine = await claim(works.database, run.id)
    said = await Discussions(works.database).list_messages(run.discussion)
    journal = works.journal.open_run(mine)

    async def nothing() -> Sequence[RunStarted]:
        return ()

    return mine, StoredTranscript(journal, mine, said, (), nothing)


async def more_said(works: Works, about: Discussion, times: int) -> None:
    async with works.database.write() as connection:
        for _ in range(times):
            new = Message(id=new_id("msg"), discussion=about.id, role="user", content="More.")
            await add_message(connection, ANNA, new)


async def test_a_message_brings_what_another_discussion_came_to(works: Works) -> None:
    title = fresh()
    about = await discuss(works.database, ANNA, "Round?", "Round.", title=title)
    run = await ran(works, f'As in @"{title}": and legs?')
    ((status, words),) = await works.answers(run)
    assert status == "completed"
    assert words.endswith(f'As in @"{title}": and legs?'), "the words stay as they are"
    assert f"{title}:\n```\n- Round tables won.\n- Legs are open.\n- Oak costs 90.\n```" in words
    (found,) = await told(works, run)
    assert (found.discussion, found.title) == (about.id, title)
    assert (found.cost or 0) > 0
    order = [type(event) for event in await works.events(run)]
    assert order.index(Notice) < order.index(Recapped) < order.index(TurnStarted)
    assert summed_up(works) == ["[m1] The person:\nRound?\n\n[m2] Alpha:\nRound."]
    assert await paid(works, run) == 1


async def test_what_was_sent_can_be_told_again_after_the_recap_was_made_anew(works: Works) -> None:
    title = fresh()
    about = await discuss(works.database, ANNA, "Round?", "Round.", title=title)
    run = await ran(works, f'As in @"{title}".')
    others = SAGE.when | {RECAP: POINTS.replace("Round", "Square")}
    works.provider._scripts.by_name["sage"] = msgspec.structs.replace(SAGE, when=others)
    await more_said(works, about, 1)
    second = await ran(works, f'As in @"{title}".')
    assert "Square tables won." in (await works.answers(second))[0][1], "two of three are not enough"
    (answer,) = [m for m in await Discussions(works.database).list_messages(run.discussion) if m.participant]
    request = (await PromptReplay(works.database).replay_prompt(ANNA, answer)).build_request()
    assert any(
        "Round tables won." in part.text for part in request.messages[0].parts if isinstance(part, Text)
    )
    async with works.database.read() as connection:
        kept = select(func.count()).where(recaps.c.discussion == about.id)
        assert (await connection.execute(kept)).scalar_one() == 2


async def test_it_is_made_once_while_it_covers_four_of_five_messages(works: Works) -> None:
    title = fresh()
    about = await discuss(works.database, ANNA, *["Round?", "Round."] * 2, title=title)
    await ran(works, f'@"{title}"')
    await more_said(works, about, 1)
    again = await ran(works, f'@"{title.upper()}"')
    assert len(summed_up(works)) == 1
    (found,) = await told(works, again)
    assert (found.cost, await paid(works, again)) == (0.0, 0)
    assert "Round tables won." in (await works.answers(again))[0][1]
    await more_said(works, about, 1)
    await ran(works, f'@"{title}"')
    assert len(summed_up(works)) == 2


async def test_later_messages_still_come_with_what_an_earlier_one_referred_to(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", "Round.", title=title)
    run = await ran(works, f'As in @"{title}".')
    said = await Discussions(works.database).list_messages(run.discussion)
    parts = await load_reference_summaries(works.database, ANNA, said)
    assert [len(parts[one.id]) for one in said] == [1, 0]


async def test_the_newest_of_several_with_one_title_is_meant(works: Works) -> None:
    title = fresh("ÉTÉ")
    await discuss(works.database, ANNA, "Old.", title=title)
    newest = await discuss(works.database, ANNA, "New.", title=title.lower())
    await discuss(works.database, BERT, "Bert's.", title=title)
    run = await ran(works, f'@"{title}"')
    assert [one.discussion for one in await told(works, run)] == [newest.id]


async def test_what_is_not_there_is_somebody_elses_or_is_this_itself_stays_words(works: Works) -> None:
    theirs, own = fresh(), fresh()
    await discuss(works.database, BERT, "Secret.", title=theirs)
    here = await discuss(works.database, model="scripted/sage", title=own)
    run = await start(works.database, here, words=f'@"{theirs}" @"Nowhere" @"{own}"')
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    missing = await notices(works, run, "missing")
    assert len(missing) == 3
    assert all(any(title in one for one in missing) for title in (theirs, "Nowhere", own))
    assert sum("no discussion" in one for one in missing) == 2
    assert sum("is this discussion itself" in one for one in missing) == 1
    assert await works.answers(run) == [("completed", f'@"{theirs}" @"Nowhere" @"{own}"')]
    assert summed_up(works) == []


async def test_five_are_brought_at_most(works: Works) -> None:
    titles = [fresh() for _ in range(6)]
    for title in titles:
        await discuss(works.database, ANNA, f"About {title}.", title=title)
    run = await ran(works, " ".join(f'@"{title}"' for title in titles))
    assert sorted(one.title for one in await told(works, run)) == sorted(titles[:5])
    (missing,) = await notices(works, run, "missing")
    assert titles[5] in missing


async def test_where_it_cannot_be_made_the_run_goes_on_without_it(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", title=title)
    run = await ran(works, f'@"{title}"', model="scripted/echo")  # which answers in no form
    assert await works.answers(run) == [("completed", f'@"{title}"')]
    (missing,) = await notices(works, run, "missing")
    assert title in missing
    assert await told(works, run) == []
    assert await paid(works, run) == 1, "what was said was paid all the same"


async def test_a_run_that_is_stopped_meanwhile_ends(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", title=title)
    run = await referring(works, f'@"{title}"', model="scripted/silence")
    works.runs.start_run(run.id)
    async with asyncio.timeout(60):
        while not works.provider.asked:
            await asyncio.sleep(0.01)
    assert await works.stop(run) == "stopped"
    assert await works.answers(run) == []


async def test_after_a_crash_it_is_neither_made_nor_paid_again(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", title=title)
    run = await referring(works, f'@"{title}"')
    mine, before = await record(works, run)
    recapping = ReferenceResolver(works.database, works._chain, SPEAKER, Budgets(works.database))
    await recapping.resolve_references(mine, before, StopSignal())
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert (len(summed_up(works)), len(await told(works, run)), await paid(works, run)) == (1, 1, 1)
    assert "Round tables won." in (await works.answers(run))[0][1]


async def test_a_crash_before_it_was_told_costs_nothing_either(works: Works) -> None:
    title = fresh()
    about = await discuss(works.database, ANNA, "Round?", title=title)
    run = await referring(works, f'@"{title}"')
    new = DiscussionSummary(
        id=new_id("recap"),
        discussion=about.id,
        points=("Round tables won.",) * 3,
        messages=1,
        model="scripted/sage",
        created_at=1.0,
    )
    paid_before = Charge(purpose="recap", model="scripted/sage", usage=Usage(1, 1), cost=0.1)
    payer = Payer(tenant=ANNA, account=ANNA, run=run.id)
    await DiscussionSummaries(works.database).save_summary(payer, new, paid_before)
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert (summed_up(works), await paid(works, run)) == ([], 1)
    assert "Round tables won." in (await works.answers(run))[0][1]


async def test_what_only_some_could_hear_is_not_passed_on(works: Works) -> None:
    title = fresh()
    about = await discuss(works.database, ANNA, "Round?", "Round.", "Alpha, between us?", title=title)
    async with works.database.write() as connection:
        mine = (messages.c.discussion == about.id, messages.c.content == "Alpha, between us?")
        await connection.execute(update(messages).where(*mine).values(audience=("alpha",)))
    await ran(works, f'@"{title}"')
    (read,) = summed_up(works)
    assert "between us" not in read


async def test_who_has_nothing_left_gets_no_recap(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", title=title)
    run = await referring(works, f'@"{title}"')
    mine, before = await record(works, run)
    recapping = ReferenceResolver(works.database, works._chain, SPEAKER, Budgets(works.database, 0.0))
    await recapping.resolve_references(mine, before, StopSignal())
    await works.journal.flush_events()
    (missing,) = await notices(works, run, "missing")
    assert "budget" in missing
    assert works.provider.asked == []
    works.runs.start_run(run.id)
    await works.over(run)


async def test_two_runs_that_want_the_same_have_it_made_once(works: Works) -> None:
    title = fresh()
    await discuss(works.database, ANNA, "Round?", title=title)
    first, second = [await referring(works, f'@"{title}"') for _ in range(2)]
    works.runs.start_run(first.id)
    works.runs.start_run(second.id)
    await works.over(first)
    await works.over(second)
    assert len(summed_up(works)) == 1
    assert await paid(works, first) + await paid(works, second) == 1
