"""Small pieces of the sentences that people read."""

from __future__ import annotations

from datetime import datetime, timedelta

DESCRIPTION_LIMIT = 1024
"""Characters of `status.description`, and of a condition's message."""


def bounded(text: str, limit: int) -> str:
    """Cut `text` to at most `limit` characters, on one line, with an ellipsis where something was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`, `23rd`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def clock_time(moment: datetime) -> str:
    """A moment as `10:42:07Z`."""
    return moment.strftime("%H:%M:%SZ")


def seconds(duration: timedelta) -> str:
    """A duration as `1800 s`."""
    return f"{int(duration.total_seconds())} s"
