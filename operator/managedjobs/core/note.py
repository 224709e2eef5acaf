"""What people are told of a change, once it is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An Event to record once the status is written."""

    reason: str
    text: str
    warning: bool = False
