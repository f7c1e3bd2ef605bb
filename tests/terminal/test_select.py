from io import StringIO

import pytest

from moot.terminal.columns import LiveColumns
from moot.terminal.lesson import LessonReader
from moot.terminal.readers import PlainReader, RunReader, SingleReader
from moot.terminal.select import NoticePrinter, select_reader
from tests.terminal.dialogue import FakeTerminal


@pytest.mark.parametrize(
    ("mode", "participants", "screen", "reader"),
    [
        ("single", 1, True, SingleReader),
        ("parallel", 2, True, LiveColumns),
        ("parallel", 2, False, PlainReader),
        ("directed", 2, True, LessonReader),
        (None, 1, False, SingleReader),
    ],
)
def test_the_reader_fits_where_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
    mode: str | None,
    participants: int,
    screen: bool,
    reader: type[RunReader],
) -> None:
    monkeypatch.setattr("sys.stdout", FakeTerminal() if screen else StringIO())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(select_reader(mode, participants), reader)


def test_a_dumb_terminal_has_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", FakeTerminal())
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(select_reader("parallel", 2), PlainReader)


def test_what_is_said_beside_the_table_goes_through_its_reader(capsys: pytest.CaptureFixture[str]) -> None:
    say, out, err = NoticePrinter(), StringIO(), StringIO()
    say("before\x1b")
    with say.attach_reader(PlainReader(out, err)):
        say("meanwhile")
    say("after")
    assert err.getvalue() == "moot: meanwhile\n"
    assert capsys.readouterr().err == "moot: before\nmoot: after\n"
