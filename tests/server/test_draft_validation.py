from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from moot.providers.registry import Registry
from moot.server.draft_validation import DraftValidator
from moot.server.schemas import DiscussionChange, DiscussionDraft
from moot.services.discussions import NewDiscussion
from moot.services.participants import ParticipantResolver
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.modes import DebateOptions
from tests.support.accounts import ANNA, create_discussion, database_with_accounts

CALLER = Caller(account=ANNA, tenant=ANNA, name=ANNA, kind="local")


class DraftHarness:
    def __init__(self, draft_validator: DraftValidator) -> None:
        self.draft_validator = draft_validator

    async def new_discussion(self, models: list[str], **more: Any) -> NewDiscussion:
        data = convert({"message": "What is a moot?", "participants": models, **more}, DiscussionDraft)
        return await self.draft_validator.validate_draft(CALLER, data, data.participants)


@pytest.fixture
async def draft_harness(tmp_path: Path) -> AsyncIterator[DraftHarness]:
    async with database_with_accounts("sqlite", tmp_path) as database, Registry({}, {}) as registry:
        personas = Personas(database, ())
        yield DraftHarness(DraftValidator(ParticipantResolver(registry, personas), personas, Projects(database)))


async def test_default_mode_is_single_for_one_and_parallel_for_several(
    draft_harness: DraftHarness,
) -> None:
    assert (await draft_harness.new_discussion(["scripted/echo"])).mode == "single"
    assert (await draft_harness.new_discussion(["scripted/echo", "scripted/echo"])).mode == "parallel"


async def test_debate_lead_is_resolved_by_name_or_id(draft_harness: DraftHarness) -> None:
    both = ["scripted/echo", "scripted/steady"]
    for lead in ("Beta", "beta"):
        opened = await draft_harness.new_discussion(both, mode="debate", debate={"lead": lead, "quorum": 2})
        assert opened.debate == DebateOptions(lead="beta", quorum=2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mode": "debate"}, "mode: debate takes at least two"),
        ({"mode": "consensus"}, "mode: consensus takes at least two"),
        ({"language": "xx"}, "language: 'xx'"),
        ({"model": "scripted/eco"}, "model: .*'echo'"),
        ({"task_model": "nobody/x"}, "task_model: "),
        ({"debate": {"lead": "Beta"}}, "debate.lead: there is no participant 'Beta'"),
        ({"debate": {"quorum": 2}}, "debate.quorum: only 1"),
        ({"message": "  "}, "message: it is empty"),
        ({"title": " "}, "title: it is empty"),
    ],
)
async def test_invalid_draft_is_rejected_by_field(
    draft_harness: DraftHarness, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=rf"^{words}"):
        await draft_harness.new_discussion(["scripted/echo"], **more)


@pytest.mark.parametrize("field", ["persona", "project"])
async def test_unknown_persona_or_project_is_not_found_by_field(draft_harness: DraftHarness, field: str) -> None:
    with pytest.raises(NotFound, match=rf"^{field}: "):
        await draft_harness.new_discussion(["scripted/echo"], **{field: "none"})


async def test_validate_change_returns_only_sent_fields(draft_harness: DraftHarness, tmp_path: Path) -> None:
    async with database_with_accounts("sqlite", tmp_path / "other") as database:
        now = await create_discussion(database)
        nothing = await draft_harness.draft_validator.validate_change(CALLER, DiscussionChange(), now)
        some = await draft_harness.draft_validator.validate_change(
            CALLER, convert({"title": " New ", "model": None}, DiscussionChange), now
        )
        assert (nothing, some) == ({}, {"title": "New", "model": None})
        rules = convert({"debate": {"lead": now.participants[0].name}}, DiscussionChange)
        assert await draft_harness.draft_validator.validate_change(CALLER, rules, now) == {
            "debate": DebateOptions(lead=now.participants[0].id)
        }
        with pytest.raises(UsageError, match="mode: debate takes"):
            await draft_harness.draft_validator.validate_change(CALLER, DiscussionChange(mode="debate"), now)
