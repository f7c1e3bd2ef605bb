"""References to other discussions: summarized once, before the first turn, charged once, and never fatal."""

import asyncio
from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from sqlalchemy import func, select, update

from moot.engine.runs.execution import StoredTranscript
from moot.engine.runs.references import ReferenceResolver, load_reference_summaries
from moot.providers.scripted.scripts import Script, last_user_text
from moot.services.prompt_replay import PromptReplay
from moot.store.discussions.discussions import Discussions, add_message
from moot.store.library.summaries import DiscussionSummaries
from moot.store.runs.runs import RunLease
from moot.store.schema.billing import charge as charges
from moot.store.schema.discussions import message as messages
from moot.store.schema.library import discussion_summary as summaries
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge, Payer
from moot.types.chunks import Text, Usage
from moot.types.discussions import Discussion, Message, Run
from moot.types.events import Notice, ReferenceSummarized, RunStarted, TurnStarted
from moot.types.knowledge import DiscussionSummary
from moot.types.primitives import new_id
from tests.support.accounts import ANNA, BERT, create_discussion
from tests.support.run_harness import RunHarness
from tests.support.runs import create_run, lease_run
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER

pytestmark = pytest.mark.asyncio(loop_scope="module")

SUMMARY_PROMPT = "Those who read that message were not here"
POINTS = msgspec.json.encode({"points": ["Round tables won.", "Legs are open.", "Oak costs 90."]}).decode()
SAGE_SCRIPT = Script(answer="{question}", answer_if_contains={SUMMARY_PROMPT: POINTS}, usd_per_million_tokens=1.0)
title_numbers = count()


@pytest.fixture(autouse=True)
def install_sage_script(run_harness: RunHarness) -> None:
    run_harness.provider._scripts.by_name["sage"] = SAGE_SCRIPT
    run_harness.provider.requests.clear()


def unique_title(prefix: str = "Tables") -> str:
    """Return a title that no other test uses."""
    return f"{prefix} {next(title_numbers)}"


async def create_referring_run(run_harness: RunHarness, text: str, *, model: str = "scripted/sage") -> Run:
    """Store a discussion whose first message refers to others."""
    return await create_run(
        run_harness.database, await create_discussion(run_harness.database, model=model), question=text
    )


async def execute_referring_run(run_harness: RunHarness, text: str, *, model: str = "scripted/sage") -> Run:
    run = await create_referring_run(run_harness, text, model=model)
    run_harness.run_manager.start_run(run.id)
    await run_harness.wait_for_end(run)
    return run


def summary_inputs(run_harness: RunHarness) -> list[str]:
    """Return the prompts of the summary calls."""
    return [last_user_text(one) for one in run_harness.provider.requests if SUMMARY_PROMPT in one.system]


async def notice_messages(run_harness: RunHarness, run: Run, kind: str) -> list[str]:
    return [e.message for e in await run_harness.read_events(run) if isinstance(e, Notice) and e.kind == kind]


async def summary_events(run_harness: RunHarness, run: Run) -> list[ReferenceSummarized]:
    return [event for event in await run_harness.read_events(run) if isinstance(event, ReferenceSummarized)]


async def count_summary_charges(run_harness: RunHarness, run: Run) -> int:
    query = select(func.count()).where(charges.c.run == run.id, charges.c.purpose == "reference_summary")
    async with run_harness.database.read() as connection:
        return int((await connection.execute(query)).scalar_one())


async def take_over_transcript(run_harness: RunHarness, run: Run) -> tuple[RunLease, StoredTranscript]:
    """Lease a run and open its transcript, as a worker does before it dies."""
    lease = await lease_run(run_harness.database, run.id)
    stored_messages = await Discussions(run_harness.database).list_messages(run.discussion)
    event_buffer = run_harness.event_writer.open_run(lease)

    async def nothing() -> Sequence[RunStarted]:
        return ()

    return lease, StoredTranscript(event_buffer, lease, stored_messages, (), nothing)


async def add_messages(run_harness: RunHarness, discussion: Discussion, message_count: int) -> None:
    async with run_harness.database.write() as connection:
        for _ in range(message_count):
            new = Message(id=new_id("msg"), discussion=discussion.id, role="user", content="More.")
            await add_message(connection, ANNA, new)


async def test_reference_adds_summary_of_other_discussion_to_prompt(run_harness: RunHarness) -> None:
    title = unique_title()
    about = await create_discussion(run_harness.database, ANNA, "Round?", "Round.", title=title)
    run = await execute_referring_run(run_harness, f'As in @"{title}": and legs?')
    ((status, words),) = await run_harness.read_answers(run)
    assert status == "completed"
    assert words.endswith(f'As in @"{title}": and legs?'), "the words stay as they are"
    assert f"{title}:\n```\n- Round tables won.\n- Legs are open.\n- Oak costs 90.\n```" in words
    (found,) = await summary_events(run_harness, run)
    assert (found.discussion, found.title) == (about.id, title)
    assert (found.cost_usd or 0) > 0
    order = [type(event) for event in await run_harness.read_events(run)]
    assert order.index(Notice) < order.index(ReferenceSummarized) < order.index(TurnStarted)
    assert summary_inputs(run_harness) == ["[m1] The person:\nRound?\n\n[m2] Alpha:\nRound."]
    assert await count_summary_charges(run_harness, run) == 1


async def test_prompt_replay_uses_original_summary_after_it_was_renewed(run_harness: RunHarness) -> None:
    title = unique_title()
    about = await create_discussion(run_harness.database, ANNA, "Round?", "Round.", title=title)
    run = await execute_referring_run(run_harness, f'As in @"{title}".')
    others = {**SAGE_SCRIPT.answer_if_contains, SUMMARY_PROMPT: POINTS.replace("Round", "Square")}
    run_harness.provider._scripts.by_name["sage"] = msgspec.structs.replace(SAGE_SCRIPT, answer_if_contains=others)
    await add_messages(run_harness, about, 1)
    second = await execute_referring_run(run_harness, f'As in @"{title}".')
    assert "Square tables won." in (await run_harness.read_answers(second))[0][1], "two of three are not enough"
    (answer,) = [m for m in await Discussions(run_harness.database).list_messages(run.discussion) if m.participant]
    request = (await PromptReplay(run_harness.stores).replay_prompt(ANNA, answer)).build_request()
    assert any("Round tables won." in part.text for part in request.messages[0].parts if isinstance(part, Text))
    async with run_harness.database.read() as connection:
        count_summaries = select(func.count()).where(summaries.c.discussion == about.id)
        assert (await connection.execute(count_summaries)).scalar_one() == 2


async def test_summary_is_reused_while_it_covers_four_of_five_messages(run_harness: RunHarness) -> None:
    title = unique_title()
    about = await create_discussion(run_harness.database, ANNA, *["Round?", "Round."] * 2, title=title)
    await execute_referring_run(run_harness, f'@"{title}"')
    await add_messages(run_harness, about, 1)
    again = await execute_referring_run(run_harness, f'@"{title.upper()}"')
    assert len(summary_inputs(run_harness)) == 1
    (found,) = await summary_events(run_harness, again)
    assert (found.cost_usd, await count_summary_charges(run_harness, again)) == (0.0, 0)
    assert "Round tables won." in (await run_harness.read_answers(again))[0][1]
    await add_messages(run_harness, about, 1)
    await execute_referring_run(run_harness, f'@"{title}"')
    assert len(summary_inputs(run_harness)) == 2


async def test_later_messages_keep_summaries_of_earlier_references(
    run_harness: RunHarness,
) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", "Round.", title=title)
    run = await execute_referring_run(run_harness, f'As in @"{title}".')
    stored_messages = await Discussions(run_harness.database).list_messages(run.discussion)
    parts = await load_reference_summaries(run_harness.stores, ANNA, stored_messages)
    assert [len(parts[one.id]) for one in stored_messages] == [1, 0]


async def test_reference_resolves_to_newest_discussion_with_that_title(run_harness: RunHarness) -> None:
    title = unique_title("ÉTÉ")
    await create_discussion(run_harness.database, ANNA, "Old.", title=title)
    newest = await create_discussion(run_harness.database, ANNA, "New.", title=title.lower())
    await create_discussion(run_harness.database, BERT, "Bert's.", title=title)
    run = await execute_referring_run(run_harness, f'@"{title}"')
    assert [one.discussion for one in await summary_events(run_harness, run)] == [newest.id]


async def test_unresolvable_reference_stays_plain_text_with_notice(
    run_harness: RunHarness,
) -> None:
    theirs, own = unique_title(), unique_title()
    await create_discussion(run_harness.database, BERT, "Secret.", title=theirs)
    discussion = await create_discussion(run_harness.database, model="scripted/sage", title=own)
    run = await create_run(run_harness.database, discussion, question=f'@"{theirs}" @"Nowhere" @"{own}"')
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    missing = await notice_messages(run_harness, run, "missing")
    assert len(missing) == 3
    assert all(any(title in one for one in missing) for title in (theirs, "Nowhere", own))
    assert sum("not the title of a discussion" in one for one in missing) == 2
    assert sum("is this discussion itself" in one for one in missing) == 1
    assert await run_harness.read_answers(run) == [("completed", f'@"{theirs}" @"Nowhere" @"{own}"')]
    assert summary_inputs(run_harness) == []


async def test_references_are_limited_to_five(run_harness: RunHarness) -> None:
    titles = [unique_title() for _ in range(6)]
    for title in titles:
        await create_discussion(run_harness.database, ANNA, f"About {title}.", title=title)
    run = await execute_referring_run(run_harness, " ".join(f'@"{title}"' for title in titles))
    assert sorted(one.title for one in await summary_events(run_harness, run)) == sorted(titles[:5])
    (missing,) = await notice_messages(run_harness, run, "missing")
    assert titles[5] in missing


async def test_run_continues_without_summary_when_summary_fails(run_harness: RunHarness) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    run = await execute_referring_run(run_harness, f'@"{title}"', model="scripted/echo")  # its answer is not valid JSON
    assert await run_harness.read_answers(run) == [("completed", f'@"{title}"')]
    (missing,) = await notice_messages(run_harness, run, "missing")
    assert title in missing
    assert await summary_events(run_harness, run) == []
    assert await count_summary_charges(run_harness, run) == 1, "a failed summary is charged too"


async def test_run_can_be_stopped_while_summary_is_requested(run_harness: RunHarness) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    run = await create_referring_run(run_harness, f'@"{title}"', model="scripted/silence")
    run_harness.run_manager.start_run(run.id)
    async with asyncio.timeout(60):
        while not run_harness.provider.requests:
            await asyncio.sleep(0.01)
    assert await run_harness.stop_run(run) == "stopped"
    assert await run_harness.read_answers(run) == []


async def test_summary_is_neither_requested_nor_charged_again_after_crash(run_harness: RunHarness) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    run = await create_referring_run(run_harness, f'@"{title}"')
    lease, before = await take_over_transcript(run_harness, run)
    reference_resolver = ReferenceResolver(run_harness.stores, run_harness._resolve_model, MODEL_CALLER)
    await reference_resolver.resolve_references(lease, before, StopSignal())
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert (
        len(summary_inputs(run_harness)),
        len(await summary_events(run_harness, run)),
        await count_summary_charges(run_harness, run),
    ) == (1, 1, 1)
    assert "Round tables won." in (await run_harness.read_answers(run))[0][1]


async def test_summary_stored_before_crash_is_not_charged_again(run_harness: RunHarness) -> None:
    title = unique_title()
    about = await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    run = await create_referring_run(run_harness, f'@"{title}"')
    new = DiscussionSummary(
        id=new_id("reference_summary"),
        discussion=about.id,
        points=("Round tables won.",) * 3,
        messages=1,
        model="scripted/sage",
        created_at=1.0,
    )
    paid_before = Charge(purpose="reference_summary", model="scripted/sage", usage=Usage(1, 1), cost_usd=0.1)
    payer = Payer(tenant=ANNA, account=ANNA, run=run.id)
    await DiscussionSummaries(run_harness.database).save_summary(payer, new, paid_before)
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert (summary_inputs(run_harness), await count_summary_charges(run_harness, run)) == ([], 1)
    assert "Round tables won." in (await run_harness.read_answers(run))[0][1]


async def test_summary_excludes_private_messages(run_harness: RunHarness) -> None:
    title = unique_title()
    about = await create_discussion(run_harness.database, ANNA, "Round?", "Round.", "Alpha, between us?", title=title)
    async with run_harness.database.write() as connection:
        mine = (messages.c.discussion == about.id, messages.c.content == "Alpha, between us?")
        await connection.execute(update(messages).where(*mine).values(visible_to=("alpha",)))
    await execute_referring_run(run_harness, f'@"{title}"')
    (read,) = summary_inputs(run_harness)
    assert "between us" not in read


async def test_summary_is_not_requested_when_budget_is_spent(run_harness: RunHarness) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    run = await create_referring_run(run_harness, f'@"{title}"')
    lease, before = await take_over_transcript(run_harness, run)
    reference_resolver = ReferenceResolver(
        make_stores(run_harness.database, 0.0), run_harness._resolve_model, MODEL_CALLER
    )
    await reference_resolver.resolve_references(lease, before, StopSignal())
    await run_harness.event_writer.flush_events()
    (missing,) = await notice_messages(run_harness, run, "missing")
    assert "budget" in missing
    assert run_harness.provider.requests == []
    run_harness.run_manager.start_run(run.id)
    await run_harness.wait_for_end(run)


async def test_concurrent_runs_share_one_summary(run_harness: RunHarness) -> None:
    title = unique_title()
    await create_discussion(run_harness.database, ANNA, "Round?", title=title)
    first, second = [await create_referring_run(run_harness, f'@"{title}"') for _ in range(2)]
    run_harness.run_manager.start_run(first.id)
    run_harness.run_manager.start_run(second.id)
    await run_harness.wait_for_end(first)
    await run_harness.wait_for_end(second)
    assert len(summary_inputs(run_harness)) == 1
    assert await count_summary_charges(run_harness, first) + await count_summary_charges(run_harness, second) == 1
