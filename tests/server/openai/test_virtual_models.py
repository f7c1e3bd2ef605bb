import pytest

from moot.server.openai.virtual_models import MODE_MODELS
from moot.types.accounts import Caller
from moot.types.errors import NotFound
from tests.server.talking import Talking

ME = Caller(account="local", tenant="local", name="local", kind="local")
TWO = ["scripted/echo", "scripted/steady"]


async def test_there_is_a_table_a_mode_and_one_a_saved_line_up(here: Talking) -> None:
    for name in ("Old", "Twice", "Twice"):
        await here.ok("POST", "/api/line-ups", {"name": name, "participants": TWO})
    names = [one.id for one in await here.house.tables.list_models(ME)]
    assert names[: len(MODE_MODELS)] == [f"moot/{mode}" for mode in MODE_MODELS.values()]
    assert sorted(names[len(MODE_MODELS) :]) == ["line-up/Old", "line-up/Twice"]


async def test_of_two_with_one_name_the_newest_is_meant_and_an_id_means_one(here: Talking) -> None:
    old = await here.ok("POST", "/api/line-ups", {"name": "Twice", "participants": TWO})
    await here.ok("POST", "/api/line-ups", {"name": "Twice", "participants": TWO, "mode": "debate"})
    assert (await here.house.tables.plan_run(ME, "line-up/Twice")).mode == "debate"
    assert (await here.house.tables.plan_run(ME, f"line-up/{old['id']}")).mode == "parallel"


async def test_a_line_up_keeps_its_rules_and_personas(here: Talking) -> None:
    persona = await here.ok("POST", "/api/personas", {"name": "Ada", "system_prompt": "Be Ada."})
    seats = [{"model": "scripted/echo", "persona": persona["id"]}, "scripted/steady"]
    rules = {"lead": "Ada", "quorum": 1}
    new = {"name": "Two", "participants": seats, "mode": "debate", "debate": rules}
    await here.ok("POST", "/api/line-ups", new)
    plan = await here.house.tables.plan_run(ME, "line-up/Two")
    assert (plan.lead.name, plan.debate.quorum, plan.personas) == ("Ada", 1, {"ada": "Be Ada."})
    assert (plan.minutes, plan.language) == (False, None)


async def test_a_single_model_is_a_table_too(here: Talking) -> None:
    plan = await here.house.tables.plan_run(ME, "scripted/echo")
    assert (plan.mode, [who.model for who in plan.participants]) == ("single", ["scripted/echo"])
    assert (await here.house.tables.get_model(ME, "scripted/echo")).id == "scripted/echo"


@pytest.mark.parametrize("name", ["moot/none", "line-up/none", "nobody/none", "scripted/none", "none"])
async def test_there_is_no_other(here: Talking, name: str) -> None:
    with pytest.raises(NotFound, match=r"^model: "):
        await here.house.tables.plan_run(ME, name)
    with pytest.raises(NotFound, match=r"^model: "):
        await here.house.tables.get_model(ME, name)


async def test_nobody_sits_at_the_tables_of_others(here: Talking) -> None:
    await here.ok("POST", "/api/line-ups", {"name": "Mine", "participants": TWO})
    stranger = Caller(account="x", tenant="x", name="x", kind="token")
    with pytest.raises(NotFound):
        await here.house.tables.plan_run(stranger, "line-up/Mine")
