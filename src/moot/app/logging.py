"""Structured logs: one JSON object a line for programs, short lines for people. Never content, never keys."""

import json
import logging
import sys
import time

from moot.terminal.readers import safe

USUAL = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
    "taskName",
}
QUIET = ("dbos", "sqlalchemy", "aiosqlite", "uvicorn", "alembic", "discord", "mcp", "httpx2")
SILENT = "mcp.client"  # it logs what foreign servers said


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Write a line that a terminal can show, whatever a caller put into a path."""
        more = " ".join(f"{name}={value}" for name, value in _extra(record).items())
        line = f"moot: {record.levelname.lower()}: {record.getMessage()}" + (f" ({more})" if more else "")
        return safe(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in USUAL}


def configure(level: int = logging.INFO) -> None:
    """Log to standard error, in the form that fits who reads it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ForPeople() if sys.stderr.isatty() else JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(SILENT).setLevel(logging.CRITICAL + 1)
