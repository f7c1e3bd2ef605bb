from pathlib import Path

import pytest

from moot.engine import presence
from moot.engine.presence import Presence, folder_for

ROLL = {"one", "other"}


def test_only_who_left_a_file_and_does_not_hold_it_is_dead(tmp_path: Path) -> None:
    here = Presence(tmp_path / "workers")
    assert here.dead(ROLL) == set()
    with here.shown("one"):
        assert here.dead(ROLL) == set()
        (tmp_path / "workers" / "other").touch()
        assert here.dead(ROLL) == {"other"}
        assert here.dead(ROLL) == {"other"}  # until it is struck off


def test_whoever_is_done_leaves_nothing(tmp_path: Path) -> None:
    with Presence(tmp_path).shown("one"):
        pass
    assert not list(tmp_path.iterdir())


def test_what_somebody_left_who_was_struck_off_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "third").touch()
    with Presence(tmp_path).shown("one"):
        assert Presence(tmp_path).dead(ROLL) == set()
        assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize(("name", "value"), [("hold", lambda _: False), ("IS_KNOWN", False)])
def test_whoever_cannot_hold_its_file_has_none(
    tmp_path: Path, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, name, value)
    with Presence(tmp_path).shown("one"):
        assert not list(tmp_path.iterdir())


def test_another_machine_and_another_database_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [folder_for(tmp_path, url) for url in ("postgresql://one:secret@db/moot", "postgresql://db/other")]
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    folders = {*here, folder_for(tmp_path, "postgresql://db/other")}
    assert len(folders) == 3
    assert not any("secret" in str(folder) for folder in folders)
