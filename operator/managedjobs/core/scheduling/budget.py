"""How often a job's controllers may fail by their own fault before the operator ends the job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.model import ControllerRef, JobStatus

FAILURES_ALLOWED = 6
FORGIVEN_AFTER = timedelta(hours=1)
"""A failure this long after the one before starts the count anew."""


def newest_failure(status: JobStatus, failed_at: Iterable[datetime | None]) -> datetime | None:
    """The newest own failure of a controller that the status does not count yet; None: there is none."""
    newest = max((moment for moment in failed_at if moment is not None), default=None)
    counted = status.controller.last_failure_time if status.controller else None
    if newest is None or (counted is not None and newest <= counted):
        return None
    return newest


def counted_failure(controller: ControllerRef, failed_at: datetime) -> ControllerRef:
    """`status.controller` with one more failure."""
    last = controller.last_failure_time
    before = controller.failures if last is not None and failed_at - last < FORGIVEN_AFTER else 0
    return replace(controller, failures=before + 1, last_failure_time=failed_at)


def is_spent(controller: ControllerRef) -> bool:
    """Whether no further failure is forgiven."""
    return controller.failures >= FAILURES_ALLOWED
