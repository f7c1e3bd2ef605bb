from io import StringIO

import pytest

from moot.terminal.columns import LiveColumns
from moot.terminal.readers import LessonReader, PlainReader, RunReader, SingleReader
from moot.terminal.select import NoticePrinter, select_reader
from tests.support.run_events import FakeTerminal


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
def test_select_reader_depends_on_mode_and_terminal(
    monkeypatch: pytest.MonkeyPatch,
    mode: str | None,
    participants: int,
    screen: bool,
    reader: type[RunReader],
) -> None:
    monkeypatch.setattr("sys.stdout", FakeTerminal() if screen else StringIO())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(select_reader(mode, participants), reader)


def test_select_reader_uses_plain_reader_on_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", FakeTerminal())
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(select_reader("parallel", 2), PlainReader)


def test_notice_printer_writes_through_attached_reader(capsys: pytest.CaptureFixture[str]) -> None:
    printer, out, err = NoticePrinter(), StringIO(), StringIO()
    printer("before\x1b")
    with printer.attach_reader(PlainReader(out, err)):
        printer("meanwhile")
    printer("after")
    assert err.getvalue() == "moot: meanwhile\n"
    assert capsys.readouterr().err == "moot: before\nmoot: after\n"
