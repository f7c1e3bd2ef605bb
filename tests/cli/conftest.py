from pathlib import Path

import msgspec
import pytest

from tests.support.debate_scripts import DEBATER_SCRIPTS
from tests.support.moot_process import MootCli

SCRIPTS = """\
[quick]
answer = "Round tables."

[other]
answer = "Square tables."

[hesitant]
answer = "A table has no head."
chunk_interval_seconds = 60.0

[late]
answer = "Here at last."
delay_seconds = 0.2
"""


@pytest.fixture
def moot(tmp_path: Path) -> MootCli:
    return MootCli(tmp_path)


@pytest.fixture
def scripted_moot(moot: MootCli) -> MootCli:
    """Replace the scripted models with the script above."""
    moot.write_file("talk.toml", SCRIPTS)
    moot.write_file("moot.toml", '[providers.scripted]\nscript = "talk.toml"\n')
    return moot


@pytest.fixture
def debate_moot(moot: MootCli) -> MootCli:
    """Replace the scripted models with debaters who disagree, until one is convinced."""
    moot.write_file("table.yaml", msgspec.yaml.encode(DEBATER_SCRIPTS).decode())
    moot.write_file("moot.toml", '[providers.scripted]\nscript = "table.yaml"\n')
    return moot
