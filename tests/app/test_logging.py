import json
import logging
import sys
from collections.abc import Iterator

import pytest

from moot.app import logging as logs
from moot.app.logging import JsonFormatter, TerminalFormatter


def make_record(message: str, *arguments: object, error: Exception | None = None, **extra: object) -> logging.LogRecord:
    record = logging.makeLogRecord(
        {
            "name": "moot.services.discussions",
            "levelno": logging.WARNING,
            "levelname": "WARNING",
            "msg": message,
        }
    )
    record.args, record.created, record.msecs = arguments, 1_700_000_000.25, 250.0
    record.exc_info = (type(error), error, None) if error else None
    record.__dict__.update(extra)
    return record


def test_json_formatter_writes_one_object_per_line() -> None:
    line = JsonFormatter().format(make_record("a run\nof %s failed", "two", run="run_1", seconds=0.5))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "warning",
        "logger": "moot.services.discussions",
        "message": "a run\nof two failed",
        "run": "run_1",
        "seconds": 0.5,
    }


def test_formatters_include_traceback() -> None:
    entry = json.loads(JsonFormatter().format(make_record("it failed", error=ValueError("why"))))
    assert entry["trace"] == "ValueError: why"
    assert TerminalFormatter().format(make_record("it failed", error=ValueError("why"))) == (
        "moot: warning: it failed\nValueError: why"
    )


def test_json_formatter_converts_unserializable_values_to_text() -> None:
    assert json.loads(JsonFormatter().format(make_record("x", where=ValueError("there"))))["where"] == "there"


def test_terminal_formatter_writes_short_line() -> None:
    line = TerminalFormatter().format(make_record("a run failed", run="run_1", seconds=2))
    assert line == "moot: warning: a run failed (run=run_1 seconds=2)"


def test_terminal_formatter_escapes_control_characters() -> None:
    line = TerminalFormatter().format(make_record("a request failed", path="/api/\x1b]0;gotcha\x07\x1b[2J"))
    assert line.isprintable()


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """Restore the root logger after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    others = {name: logging.getLogger(name).level for name in logs.WARNING_ONLY_LOGGERS}
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in others.items():
        logging.getLogger(name).setLevel(before)


def test_configure_logging_writes_to_stderr_and_silences_libraries(
    root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure_logging()
    logging.getLogger("moot").info("we are up")
    logging.getLogger("sqlalchemy.engine").info("SELECT everything")
    logging.getLogger("alembic").warning("look here")
    out, err = capsys.readouterr()
    assert out == ""
    assert [json.loads(line)["message"] for line in err.splitlines()] == ["we are up", "look here"]


def test_configure_logging_uses_terminal_formatter_on_terminal(
    root_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure_logging()
    logging.getLogger("moot").warning("mind the gap")
    assert capsys.readouterr().err == "moot: warning: mind the gap\n"
