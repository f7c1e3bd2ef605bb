import os
import sys
from pathlib import Path

import pytest

from moot.model.errors import Unavailable
from moot.tools.mcp import McpToolbox
from moot.tools.stdio import command_running
from tests.tools.servers import by_command


async def test_a_command_is_given_only_what_it_is_to_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "ours"))
    box = by_command()
    await box.call("write_down", {"text": "one"})
    await box.aclose()
    assert not (tmp_path / "ours").exists()
    box = by_command(NOTES=str(tmp_path / "its"))
    await box.call("write_down", {"text": "two"})
    await box.aclose()
    assert (tmp_path / "its").read_text() == "two\n"


async def test_a_command_that_is_not_there() -> None:
    box = McpToolbox("test", lambda: command_running([os.devnull], {}))
    with pytest.raises(Unavailable, match="The command of the tool server test cannot be run"):
        await box.tools()


async def test_the_last_words_of_a_command_that_dies_at_its_start_are_logged_without_what_is_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dies = "import os, sys; sys.exit('No such notes.\\n\\nI was given ' + os.environ['KEY'] + chr(27))"
    given = {"KEY": "canary-0123456789"}
    box = McpToolbox("test", lambda: command_running([sys.executable, "-c", dies], given), [*given.values()])
    with pytest.raises(Unavailable) as refused:
        await box.tools()
    await box.aclose()
    assert str(refused.value) == (
        "The tool server test has ended, or cannot be reached. The log has its last words."
    )
    (told,) = [record.getMessage() for record in caplog.records if record.name == "moot.tools.mcp"]
    assert told == "the tool server test ended with the words: I was given [secret]"
