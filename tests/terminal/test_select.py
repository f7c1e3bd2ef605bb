from io import StringIO

import pytest

from moot.terminal.columns import Live
from moot.terminal.lesson import Transcript
from moot.terminal.readers import Plain, Reader, Solo
from moot.terminal.select import Voice, reader_for
from tests.terminal.dialogue import Screen


@pytest.mark.parametrize(
    ("mode", "participants", "screen", "reader"),
    [
        ("single", 1, True, Solo),
        ("parallel", 2, True, Live),
        ("parallel", 2, False, Plain),
        ("directed", 2, True, Transcript),
        (None, 1, False, Solo),
    ],
)
def test_the_reader_fits_where_it_is_read(
    monkeypatch: pytest.MonkeyPatch, mode: str | None, participants: int, screen: bool, reader: type[Reader]
) -> None:
    monkeypatch.setattr("sys.stdout", Screen() if screen else StringIO())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(reader_for(mode, participants), reader)


def test_a_dumb_terminal_has_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Screen())
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(reader_for("parallel", 2), Plain)


def test_what_is_said_beside_the_table_goes_through_its_reader(capsys: pytest.CaptureFixture[str]) -> None:
    say, out, err = Voice(), StringIO(), StringIO()
    say("before\x1b")
    with say.beside(Plain(out, err)):
        say("meanwhile")
    say("after")
    assert err.getvalue() == "moot: meanwhile\n"
    assert capsys.readouterr().err == "moot: before\nmoot: after\n"
