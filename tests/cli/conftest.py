from pathlib import Path

import pytest

from tests.cli.process import Moot

TALK = """\
[quick]
answer = "Round tables."

[other]
answer = "Square tables."

[hesitant]
answer = "A table has no head."
pace = 60.0

[late]
answer = "Here at last."
delay = 0.2
"""


@pytest.fixture
def moot(tmp_path: Path) -> Moot:
    return Moot(tmp_path)


@pytest.fixture
def talk(moot: Moot) -> Moot:
    """Let the scripted models be those of the script above."""
    moot.write("talk.toml", TALK)
    moot.write("moot.toml", '[providers.scripted]\nscript = "talk.toml"\n')
    return moot
