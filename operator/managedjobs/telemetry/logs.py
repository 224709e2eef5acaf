"""How our programs log: one line each, as text for people or as JSON for machines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up_logs(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send all logs to `stream` (default: standard error); `level` such as `info`, `form` is `text` or `json`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # Libraries say at `info` what is only of interest to those who look for an error in them.
    for name in ("asyncio", "aiohttp.access", "kubernetes", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)


class TextLines(logging.Formatter):
    """`12:00:00.123 INFO  scheduler: message key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback follows where one was logged."""
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _extras(record).items())
        name = record.name.removeprefix("managedjobs.")
        line = f"{_moment(record)} {record.levelname:<7} {name}: {record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one JSON object."""
        entry: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extras(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str, ensure_ascii=False)


def _extras(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quoted(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "\n=') else text
