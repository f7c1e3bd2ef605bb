"""Structured logging: one JSON object per line, or short lines on a terminal.

Log records never contain message content or API keys.
"""

import json
import logging
import sys
import time

from moot.terminal.readers import strip_control_chars

STANDARD_RECORD_FIELDS = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
    "taskName",
}
WARNING_ONLY_LOGGERS = ("dbos", "sqlalchemy", "aiosqlite", "uvicorn", "alembic", "discord", "mcp", "httpx2")
SILENCED_LOGGER = "mcp.client"  # it logs responses of tool servers, which may contain user content


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra_fields(record),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TerminalFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Strip control characters: fields such as a request path come from the client."""
        more = " ".join(f"{name}={value}" for name, value in _extra_fields(record).items())
        line = f"moot: {record.levelname.lower()}: {record.getMessage()}" + (f" ({more})" if more else "")
        return strip_control_chars(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


def _extra_fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in STANDARD_RECORD_FIELDS}


def configure_logging(level: int = logging.INFO) -> None:
    """Log to stderr: short lines on a terminal, else JSON. Replaces existing handlers."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TerminalFormatter() if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in WARNING_ONLY_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(SILENCED_LOGGER).setLevel(logging.CRITICAL + 1)
