from pathlib import Path

import pytest

from moot.app.database_lock import lock_database, lock_holder_address
from moot.types.errors import BadSettings


def test_lock_holder_address_is_set_while_database_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "new" / "moot.db"
    assert lock_holder_address(path) is None
    with lock_database(path, "http://127.0.0.1:8642/"):
        assert lock_holder_address(path) == "http://127.0.0.1:8642/"
    assert lock_holder_address(path) is None


def test_lock_database_rejects_second_holder_and_keeps_first_address(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    with lock_database(path, "http://127.0.0.1:1/"):
        with (
            pytest.raises(BadSettings, match="Another moot serve uses"),
            lock_database(path, "http://127.0.0.1:2/"),
        ):
            pass
        assert lock_holder_address(path) == "http://127.0.0.1:1/"


def test_lock_database_replaces_address_of_previous_holder(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    with lock_database(path, "http://127.0.0.1:10001/"):
        pass
    with lock_database(path, "http://127.0.0.1:2/"):
        assert lock_holder_address(path) == "http://127.0.0.1:2/"
