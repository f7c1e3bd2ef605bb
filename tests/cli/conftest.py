from pathlib import Path

import pytest

from tests.cli.process import Moot


@pytest.fixture
def moot(tmp_path: Path) -> Moot:
    return Moot(tmp_path)
