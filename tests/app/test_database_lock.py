from pathlib import Path

import pytest

from moot.app.database_lock import lock_database, lock_holder_address
from moot.types.errors import BadSettings


def test_whoever_has_a_file_says_where_it_answers(tmp_path: Path) -> None:
    path = tmp_path / "new" / "moot.db"
    assert lock_holder_address(path) is None
    with lock_database(path, "http://127.0.0.1:8642/"):
        assert lock_holder_address(path) == "http://127.0.0.1:8642/"
    assert lock_holder_address(path) is None


def test_a_second_one_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    with lock_database(path, "http://127.0.0.1:1/"):
        with (
            pytest.raises(BadSettings, match="Another moot serve uses"),
            lock_database(path, "http://127.0.0.1:2/"),
        ):
            pass
        assert lock_holder_address(path) == "http://127.0.0.1:1/"


def test_the_next_one_says_its_own_address(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    with lock_database(path, "http://127.0.0.1:10001/"):
        pass
    with lock_database(path, "http://127.0.0.1:2/"):
        assert lock_holder_address(path) == "http://127.0.0.1:2/"
