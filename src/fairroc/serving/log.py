"""The log of the service, on standard error: text or JSON lines. No bodies, no scores, no ids, no query strings."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("fairroc.serving")


class _Lines(logging.Formatter):
    """One line for each record: as text, or as JSON. Of an exception its type and places: words may quote what was
    sent."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            fields |= _places(record.exc_info[1])
        words = " ".join(record.getMessage().split())
        if self.form == "json":
            return json.dumps({"time": when, "level": record.levelname.lower(), "message": words, **fields})
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        return f"{when} {record.levelname.lower()} {words} {shown}".rstrip()


def configure(form: str) -> None:
    """Send this log, and warnings of the server, to standard error in one form. Python's warnings go nowhere: answers
    hold what they say."""
    logging.captureWarnings(True)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(form))
    levels = {"fairroc.serving": logging.INFO, "uvicorn": logging.WARNING, "asyncio": logging.WARNING}
    for name, level in (levels | {"py.warnings": logging.ERROR}).items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def event(words: str, **fields: Any) -> None:
    """Something that happened to the service, such as a request that is over; what is None is left out."""
    LOG.info(words, extra={"fields": {name: value for name, value in fields.items() if value is not None}})


def failure(error: BaseException) -> None:
    """An error that nobody foresaw."""
    LOG.error("failed", exc_info=error)


def _places(error: BaseException) -> dict[str, str]:
    calls = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
    ]
    return {"error": type(error).__name__, "at": ",".join(calls[-6:])}
