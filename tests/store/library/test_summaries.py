from typing import Any

from msgspec.structs import replace
from sqlalchemy import select, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.summaries import DiscussionSummaries
from moot.store.schema.billing import charge as charges
from moot.store.schema.discussions import message as messages
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.knowledge import DiscussionSummary
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion

CHARGE = Charge(purpose="reference_summary", model="a/b", usage=Usage(1, 2), cost_usd=0.5)
PAYER = Payer(tenant=ANNA, account=ANNA, discussion="dis_1", run="run_1")


async def make_summary(database: Database) -> DiscussionSummary:
    await create_accounts(database)
    about = await create_discussion(database, ANNA, "Round?", "Round.")
    return DiscussionSummary(
        id="summary_1", discussion=about.id, points=("a", "b", "c"), messages=2, model="a/b", created_at=1.0
    )


async def test_newest_summary_is_returned_and_older_ones_stay_stored(database: Database) -> None:
    old = await make_summary(database)
    new = replace(old, id="summary_2", created_at=2.0)
    summaries = DiscussionSummaries(database)
    assert await summaries.newest_summary(ANNA, old.discussion) is None
    for one in (new, old):
        await summaries.save_summary(PAYER, one, replace(CHARGE, id=one.id))
    assert await summaries.newest_summary(ANNA, old.discussion) == new
    assert await summaries.summaries_by_ids(ANNA, ["summary_1", "summary_2", "summary_0"]) == {
        "summary_1": old,
        "summary_2": new,
    }


async def test_save_summary_records_its_charge(database: Database) -> None:
    await DiscussionSummaries(database).save_summary(PAYER, await make_summary(database), CHARGE)
    async with database.read() as connection:
        (row,) = await connection.execute(select(charges))
    assert (row.purpose, row.run, row.cost_usd) == ("reference_summary", "run_1", 0.5)


async def test_other_tenant_cannot_access_summary(database: Database) -> None:
    new = await make_summary(database)
    await DiscussionSummaries(database).save_summary(PAYER, new, CHARGE)
    assert await DiscussionSummaries(database).newest_summary(BERT, new.discussion) is None
    assert await DiscussionSummaries(database).summaries_by_ids(BERT, [new.id]) == {}
    assert await DiscussionSummaries(database).find_by_title(BERT, lambda _: True) == []


async def test_summary_is_deleted_with_its_discussion(database: Database) -> None:
    new = await make_summary(database)
    await DiscussionSummaries(database).save_summary(PAYER, new, CHARGE)
    await Discussions(database).delete_discussion(ANNA, new.discussion)
    assert await DiscussionSummaries(database).summaries_by_ids(ANNA, [new.id]) == {}


async def test_find_by_title_returns_newest_first(database: Database) -> None:
    await create_accounts(database)
    old, _, new = [await create_discussion(database, title=title) for title in ("Tables", "Chairs", "tables")]
    fits = "tables".__eq__
    assert await DiscussionSummaries(database).find_by_title(ANNA, lambda title: fits(title.casefold())) == [
        new.id,
        old.id,
    ]


async def test_count_public_messages_ignores_hidden_private_failed_and_empty(database: Database) -> None:
    await create_accounts(database)
    about = await create_discussion(database, ANNA, "One", "two", "three", "four", "five", "six")
    not_public: list[dict[str, Any]] = [
        {"hidden": True},
        {"visible_to": ("alpha",)},
        {"status": "failed"},
        {"content": ""},
    ]
    stored = await Discussions(database).list_messages(about.id)
    async with database.write() as connection:
        for one, values in zip(stored, not_public, strict=False):
            await connection.execute(update(messages).where(messages.c.id == one.id).values(**values))
    assert await DiscussionSummaries(database).count_public_messages(about.id) == 2
