from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import convert

from moot.server.routes.presets import PresetChange, PresetDraft, apply_preset_change, build_preset
from moot.store.database import Database
from moot.store.library.personas import Personas
from moot.types.errors import NotFound, UsageError
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.personas import PersonaDraft
from moot.types.presets import Preset
from tests.support.accounts import ANNA, BERT, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.stores import make_run_planner
from tests.support.tenant_api import TenantApi, create_tenant_api

TWO_MODELS = ["scripted/echo", "scripted/steady"]


class PresetHarness:
    def __init__(self, database: Database) -> None:
        self.personas = Personas(database, ())
        self.run_planner = make_run_planner(database)

    async def create_preset(self, **more: Any) -> Preset:
        draft = convert({"name": "Two", "participants": TWO_MODELS, **more}, PresetDraft)
        return await build_preset(self.run_planner, ANNA, draft)

    async def change_preset(self, preset: Preset, **change: Any) -> Preset:
        return await apply_preset_change(self.run_planner, ANNA, convert(change, PresetChange), preset)


@pytest.fixture
async def preset_harness(tmp_path: Path) -> AsyncIterator[PresetHarness]:
    async with database_with_accounts("sqlite", tmp_path) as database:
        yield PresetHarness(database)


async def test_preset_has_defaults_of_discussion(preset_harness: PresetHarness) -> None:
    both, one = (
        await preset_harness.create_preset(),
        await preset_harness.create_preset(participants=TWO_MODELS[:1]),
    )
    assert (both.mode, one.mode, both.rounds, both.task_model) == ("parallel", "single", 2, None)
    assert [who.name for who in both.participants] == ["Alpha", "Beta"]
    assert (both.debate, both.advisors, both.directed) == (None, None, None)
    assert both.id.startswith("preset_")


async def test_preset_keeps_options_of_all_modes(preset_harness: PresetHarness) -> None:
    full = await preset_harness.create_preset(
        mode="debate",
        task_model="scripted/task-model",
        debate={"lead": "Beta", "quorum": 2},
        advisors={"question_turns": 1},
        directed={"first_speaker": "Alpha", "turns": 3},
    )
    assert full.debate == DebateOptions(lead="beta", quorum=2)
    assert full.advisors == AdvisorOptions(question_turns=1)
    assert full.directed == DirectedOptions(first_speaker="alpha", turns=3)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mode": "debate", "participants": TWO_MODELS[:1]}, "mode: debate takes at least two"),
        ({"participants": ["scripted/eco"]}, r"participants\[0\].model: "),
        ({"task_model": "nobody/x"}, "task_model: "),
        ({"debate": {"lead": "Gamma"}}, "debate.lead: there is no participant 'Gamma'"),
        ({"debate": {"quorum": 3}}, "debate.quorum: only 2"),
        ({"directed": {"first_speaker": "Gamma"}}, "directed.first_speaker: there is no participant 'Gamma'"),
    ],
)
async def test_preset_rejects_settings_no_discussion_accepts(
    preset_harness: PresetHarness, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=rf"^{words}"):
        await preset_harness.create_preset(**more)
    now = await preset_harness.create_preset(mode="consensus")
    with pytest.raises(UsageError, match=rf"^{words}"):
        await preset_harness.change_preset(now, **more)


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "two\nlines"},
        {"name": "x" * 61},
        {"participants": []},
        {"rounds": 0},
        {"mode": "quarrel"},
        {"message": "Hello"},
        {"id": "line_up_1"},
    ],
)
def test_preset_schemas_reject_invalid_fields(body: dict[str, Any]) -> None:
    for type_, rest in ((PresetDraft, {"name": "Two", "participants": TWO_MODELS}), (PresetChange, {})):
        with pytest.raises(msgspec.ValidationError):
            convert({**rest, **body}, type_)


async def test_preset_change_updates_only_sent_fields(preset_harness: PresetHarness) -> None:
    now = await preset_harness.create_preset(
        mode="debate", task_model="scripted/task-model", debate={"lead": "Beta"}, directed={"turns": 3}
    )
    assert await preset_harness.change_preset(now) == now
    renamed = await preset_harness.change_preset(now, name="Pair", rounds=4)
    assert renamed == msgspec.structs.replace(now, name="Pair", rounds=4)
    bare = await preset_harness.change_preset(now, task_model=None, debate=None, directed=None)
    assert (bare.task_model, bare.debate, bare.directed) == (None, None, None)


async def test_preset_change_rejects_removing_participant_used_in_options(
    preset_harness: PresetHarness,
) -> None:
    now = await preset_harness.create_preset(debate={"lead": "Beta", "quorum": 2})
    with pytest.raises(UsageError, match=r"^debate\.lead: there is no participant 'beta'"):
        await preset_harness.change_preset(now, participants=TWO_MODELS[:1])
    alone = await preset_harness.change_preset(now, participants=TWO_MODELS[:1], debate={"quorum": 1}, mode="single")
    assert (len(alone.participants), alone.debate) == (1, DebateOptions(quorum=1))


async def test_preset_requires_own_persona_and_survives_its_deletion(preset_harness: PresetHarness) -> None:
    cook = await preset_harness.personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    foreign = await preset_harness.personas.create_persona(BERT, PersonaDraft(name="Spy", description="Spies."))
    participants = [{"model": "scripted/echo", "persona": cook.id}]
    now = await preset_harness.create_preset(participants=participants)
    assert now.participants[0].name == "Cook"
    with pytest.raises(NotFound, match=r"^participants\[0\]\.persona: "):
        await preset_harness.create_preset(participants=[{"model": "scripted/echo", "persona": foreign.id}])
    await preset_harness.personas.delete_persona(ANNA, cook.id)
    assert (await preset_harness.change_preset(now, name="Kitchen")).name == "Kitchen"


PRESET_BODY = {"name": "Two", "participants": ["scripted/echo", {"model": "scripted/steady", "name": "Rosa"}]}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def api(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TenantApi]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_tenant_api(database) as api,
    ):
        yield api


async def test_preset_can_be_created_read_updated_and_deleted(api: TenantApi) -> None:
    made = await api.call("POST", "/presets", PRESET_BODY | {"mode": "debate", "debate": {"lead": "Rosa"}})
    assert made.status_code == 201
    two = made.json()
    assert {name: two[name] for name in ("name", "mode", "rounds", "task_model", "debate", "advisors", "directed")} == {
        "name": "Two",
        "mode": "debate",
        "rounds": 2,
        "task_model": None,
        "debate": {"lead": "rosa"},
        "advisors": None,
        "directed": None,
    }
    assert await api.call_ok("GET", f"/presets/{two['id']}") == two
    assert await api.call_ok("GET", "/presets") == {"presets": [two], "next": None}
    changed = await api.call_ok("PATCH", f"/presets/{two['id']}", {"name": "Pair", "rounds": 3})
    assert changed == await api.call_ok("GET", f"/presets/{two['id']}") == {**two, "name": "Pair", "rounds": 3}
    assert (await api.call("DELETE", f"/presets/{two['id']}")).status_code == 204
    assert (await api.call("GET", f"/presets/{two['id']}")).status_code == 404


async def test_update_preset_accepts_preset_as_read(api: TenantApi) -> None:
    two = await api.call_ok(
        "POST", "/presets", PRESET_BODY | {"directed": {"first_speaker": "rosa", "topic": "Tables"}}
    )
    sent = {name: value for name, value in two.items() if name not in {"id", "created_at"}}
    assert await api.call_ok("PATCH", f"/presets/{two['id']}", sent) == two


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Two"}, "participants"),
        (PRESET_BODY | {"mode": "quarrel"}, "mode"),
        (PRESET_BODY | {"debate": {"lead": "Nobody"}}, "debate.lead"),
        (PRESET_BODY | {"participants": ["nobody/x"]}, "participants[0].model"),
    ],
)
async def test_create_preset_rejects_invalid_body_by_field(api: TenantApi, body: Any, field: str) -> None:
    reply = await api.call("POST", "/presets", body)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, field)
    assert (await api.call_ok("GET", "/presets"))["presets"] == []


async def test_preset_of_other_tenant_is_not_found(api: TenantApi) -> None:
    two = (await api.call_ok("POST", "/presets", PRESET_BODY))["id"]
    for method, body in (("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)):
        assert (await api.call(method, f"/presets/{two}", body, BERT)).status_code == 404
    assert (await api.call_ok("GET", f"/presets/{two}"))["name"] == "Two"
