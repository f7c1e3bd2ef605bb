import msgspec
import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from moot.store.database import Database
from moot.store.discussions.discussions import add_message
from moot.store.schema import metadata
from moot.store.schema.columns import Json
from moot.store.schema.discussions import discussion, message
from moot.store.schema.runs import run, run_event
from moot.types.chunks import Usage
from moot.types.discussions import Discussion, Message, Run
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan
from tests.store.schema_comparison import schema_differences
from tests.support.accounts import ANNA, create_accounts
from tests.support.runs import make_answer, prepare_leased_run


async def test_migrated_schema_matches_metadata(database: Database) -> None:
    async with database.read() as connection:
        assert await connection.run_sync(schema_differences) == []


def test_every_user_owned_table_has_a_tenant() -> None:
    accounts, runs, insights, channels = (
        {"session", "token", "budget_reset"},
        {"run_event", "lane", "analysis_result"},
        {"insight_vector"},
        {"channel_message", "channel_run", "channel_post", "channel_memory"},
    )
    owned_indirectly = accounts | runs | insights | channels  # through the rows they refer to
    unowned = {"tenant", "rate_limit", "token_rate", "worker", "installation"}
    owned = {table.name for table in metadata.tables.values() if "tenant" in table.c}
    assert owned | owned_indirectly | unowned == set(metadata.tables)
    assert not owned & (owned_indirectly | unowned)


# Fields of a message that are computed from the rows of its versions.
VERSION_FIELDS = {"version", "versions", "version_id", "revised_seq", "edited"}


def test_struct_fields_match_column_names() -> None:
    for struct, table in ((Discussion, discussion), (Message, message), (Run, run)):
        assert set(struct.__struct_fields__) - VERSION_FIELDS <= set(table.c.keys()), table.name


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (tuple[str, ...], ("alpha", "ünï\u2028\x00")),
        (tuple[Participant, ...], (Participant("a", "A", "m/x", temperature=0.1),)),
        (Usage, Usage(1, 2, estimated=True)),
        (RunPlan, RunPlan(mode="single", participants=(), personas={"a": "Be kind."}, to=("a",))),
    ],
    ids=str,
)
def test_json_column_round_trips_value(type_: object, value: object) -> None:
    column = Json(type_)
    text = column.process_bind_param(value, None)  # type: ignore[arg-type]
    assert column.process_result_value(text, None) == value  # type: ignore[arg-type]
    assert isinstance(text, str)
    assert "\0" not in text  # Postgres cannot store it


def test_json_column_keeps_none_and_rejects_invalid_value() -> None:
    column = Json(Usage)
    assert column.process_bind_param(None, None) is None  # type: ignore[arg-type]
    assert column.process_result_value(None, None) is None  # type: ignore[arg-type]
    with pytest.raises(msgspec.ValidationError):
        column.process_result_value('{"type":"usage","input":"many"}', None)  # type: ignore[arg-type]


async def test_event_of_unknown_run_violates_foreign_key(database: Database) -> None:
    await create_accounts(database)
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(insert(run_event).values(run="run_none", seq=1, body="{}"))


async def test_turn_is_unique_within_a_run(database: Database) -> None:
    claim = await prepare_leased_run(database)
    async with database.write() as connection:
        await add_message(connection, ANNA, make_answer(claim))
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await add_message(connection, ANNA, make_answer(claim, "Again."))


async def test_timestamps_keep_fractions(database: Database) -> None:
    await prepare_leased_run(database)
    at = 1_700_000_000.123_456_7
    async with database.write() as connection:
        await connection.execute(run.update().values(created_at=at))
        assert (await connection.execute(select(run.c.created_at))).scalar_one() == at
