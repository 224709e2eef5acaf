"""The one order over new and live jobs that want a slot."""

from __future__ import annotations

from datetime import datetime

from managedjobs.core.model import Job

OrderKey = tuple[int, int, datetime, str]


def order_key(job: Job) -> OrderKey:
    """Smaller is served first: higher priority, live before new, earlier queue time, then uid (DESIGN 5.2)."""
    return (-job.spec.priority, 0 if job.status.state.is_live else 1, job.queue_time, job.uid)
