import pytest

from moot.server.openai.virtual_models import MODE_MODELS
from moot.types.accounts import Caller
from moot.types.errors import NotFound
from tests.support.app_fixture import LocalApp

LOCAL_CALLER = Caller(account="local", tenant="local", name="local", kind="local")
TWO_MODELS = ["scripted/echo", "scripted/steady"]


async def test_list_models_contains_modes_and_preset_names_once(local_app: LocalApp) -> None:
    for name in ("Old", "Twice", "Twice"):
        await local_app.call_ok("POST", "/api/presets", {"name": name, "participants": TWO_MODELS})
    names = [one.id for one in await local_app.services.virtual_models.list_models(LOCAL_CALLER)]
    assert names[: len(MODE_MODELS)] == [f"moot/{mode}" for mode in MODE_MODELS.values()]
    assert sorted(names[len(MODE_MODELS) :]) == ["preset/Old", "preset/Twice"]


async def test_preset_name_resolves_to_newest_and_id_to_exact_preset(local_app: LocalApp) -> None:
    old = await local_app.call_ok("POST", "/api/presets", {"name": "Twice", "participants": TWO_MODELS})
    await local_app.call_ok("POST", "/api/presets", {"name": "Twice", "participants": TWO_MODELS, "mode": "debate"})
    assert (await local_app.services.virtual_models.plan_run(LOCAL_CALLER, "preset/Twice")).mode == "debate"
    assert (await local_app.services.virtual_models.plan_run(LOCAL_CALLER, f"preset/{old['id']}")).mode == "parallel"


async def test_plan_of_preset_keeps_options_and_personas(local_app: LocalApp) -> None:
    persona = await local_app.call_ok("POST", "/api/personas", {"name": "Ada", "system_prompt": "Be Ada."})
    participants = [{"model": "scripted/echo", "persona": persona["id"]}, "scripted/steady"]
    rules = {"lead": "Ada", "quorum": 1}
    new = {"name": "Two", "participants": participants, "mode": "debate", "debate": rules}
    await local_app.call_ok("POST", "/api/presets", new)
    plan = await local_app.services.virtual_models.plan_run(LOCAL_CALLER, "preset/Two")
    assert (plan.lead.name, plan.debate.quorum, plan.personas) == ("Ada", 1, {"ada": "Be Ada."})
    assert (plan.debate_report, plan.language) == (False, None)


async def test_plain_model_name_plans_single_mode(local_app: LocalApp) -> None:
    plan = await local_app.services.virtual_models.plan_run(LOCAL_CALLER, "scripted/echo")
    assert (plan.mode, [who.model for who in plan.participants]) == ("single", ["scripted/echo"])
    assert (await local_app.services.virtual_models.get_model(LOCAL_CALLER, "scripted/echo")).id == "scripted/echo"


@pytest.mark.parametrize("name", ["moot/none", "preset/none", "nobody/none", "scripted/none", "none"])
async def test_unknown_model_name_is_not_found(local_app: LocalApp, name: str) -> None:
    with pytest.raises(NotFound, match=r"^model: "):
        await local_app.services.virtual_models.plan_run(LOCAL_CALLER, name)
    with pytest.raises(NotFound, match=r"^model: "):
        await local_app.services.virtual_models.get_model(LOCAL_CALLER, name)


async def test_preset_of_other_tenant_is_not_found(local_app: LocalApp) -> None:
    await local_app.call_ok("POST", "/api/presets", {"name": "Mine", "participants": TWO_MODELS})
    other_caller = Caller(account="x", tenant="x", name="x", kind="token")
    with pytest.raises(NotFound):
        await local_app.services.virtual_models.plan_run(other_caller, "preset/Mine")
