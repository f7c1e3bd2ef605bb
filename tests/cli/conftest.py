from pathlib import Path

import msgspec
import pytest

from tests.api.debating import TABLE
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


@pytest.fixture
def table(moot: Moot) -> Moot:
    """Let the scripted models be those who differ, and one of them is convinced."""
    moot.write("table.yaml", msgspec.yaml.encode(TABLE).decode())
    moot.write("moot.toml", '[providers.scripted]\nscript = "table.yaml"\n')
    return moot
