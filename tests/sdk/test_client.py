"""The Python client without a server."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import moot
from moot import DebateOptions, DirectedOptions, Moot, ParticipantSpec, UnknownModel, UsageError, ask
from moot.types.events import TextDelta

DEBATERS = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]


async def test_debate_streams_and_returns_synthesis_with_report() -> None:
    async with Moot() as moot:
        debate = moot.debate("Split it?", DEBATERS, options=DebateOptions(lead="beta"))
        stages = {event.stage async for event in debate if isinstance(event, TextDelta)}
    assert stages == {"initial", "debate", "synthesis"}
    result = debate.result
    assert result.synthesis == result.text
    assert list(result.answers) == ["Alpha", "Beta", "Gamma"]
    assert result.summary is not None
    assert result.ranking is not None
    assert result.turns[-1].participant == "beta"
    assert result.cost_usd == 0.0


async def test_persona_and_instructions_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('[parrot]\nanswer = "{system}"\n')
    (tmp_path / "moot.toml").write_text('[providers.scripted]\nscript = "script.toml"\n')
    async with Moot(tmp_path / "moot.toml") as moot:
        result = await moot.ask(
            "Who are you?", [ParticipantSpec(model="scripted/parrot", prompt="Be Ada.")], system="Be brief."
        )
    assert result.text == "Be Ada.\n\nBe brief."


async def test_file_comes_before_the_question(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one two")
    async with Moot() as moot:
        result = await moot.ask("Why?", ["scripted/echo"], files=[tmp_path / "notes.txt"])
    assert result.text == "notes.txt:\n```\none two\n```\n\nWhy?"


async def test_ask_without_models_uses_default_participants(tmp_path: Path) -> None:
    (tmp_path / "moot.toml").write_text('participants = ["scripted/echo", "scripted/steady"]\n')
    async with Moot(tmp_path / "moot.toml") as moot:
        assert list((await moot.ask("Why?")).answers) == ["Alpha"]
        assert list((await moot.ask("Why?", mode="consensus", rounds=1)).answers) == ["Alpha", "Beta"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"question": " "}, "question: it is empty"),
        ({"mode": "debate"}, "at least two"),
        ({"mode": "single", "models": DEBATERS}, "single mode takes one"),
        ({"options": DirectedOptions()}, "options: these are for directed mode, but the mode is single"),
        ({"files": ["nowhere.txt"]}, "Cannot read nowhere.txt"),
    ],
)
async def test_ask_rejects_incompatible_options(wanted: dict[str, Any], words: str) -> None:
    async with Moot() as moot:
        with pytest.raises(UsageError, match=words):
            await moot.ask(**{"question": "Why?", "models": ["scripted/echo"], **wanted})


async def test_ask_rejects_unknown_model() -> None:
    async with Moot() as moot:
        with pytest.raises(UnknownModel):
            await moot.ask("Why?", ["nobody/none"])


async def test_closing_the_client_stops_live_runs() -> None:
    async with asyncio.timeout(60):
        async with Moot() as moot:
            events = aiter(moot.ask("Why?", ["scripted/endless"]))
            while not isinstance(await anext(events), TextDelta):
                pass
        assert len(moot._ephemeral_runs) == 0
        await events.aclose()


def test_synchronous_ask_returns_result() -> None:
    assert ask("Why?", ["scripted/echo"]).text == "Why?"


async def test_synchronous_ask_is_rejected_inside_event_loop() -> None:
    with pytest.raises(UsageError, match="async with Moot"):
        ask("Why?", ["scripted/echo"])


def test_public_names_are_imported_lazily() -> None:
    assert all(getattr(moot, name) for name in moot.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        moot.nothing  # noqa: B018
    loaded = "import moot, sys; print([name for name in sys.modules if name.startswith('moot.')])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "[]\n"
