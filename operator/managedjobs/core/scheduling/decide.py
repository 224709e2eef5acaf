"""What the operator does next about one job: level-triggered, from what is there now."""

from __future__ import annotations

from datetime import datetime

from managedjobs.core.model import Job
from managedjobs.core.phases import ScheduleState
from managedjobs.core.scheduling.actions import MOMENT, Action, CheckAgainAt, DeleteJob
from managedjobs.core.scheduling.live_rules import decide_live
from managedjobs.core.scheduling.queue_rules import decide_suspended, decide_waiting
from managedjobs.core.scheduling.sweep import sweep
from managedjobs.core.scheduling.view import OperatorView


def decide(view: OperatorView, term: int, now: datetime) -> list[Action]:
    """The next small step for the job, as the leader of `term`. Claims and grants are decided in `admission`.

    While a controller pod was asked for and not seen yet, nothing is decided: what it did is not known.
    """
    job = view.job
    if job is None:
        return sweep(view, view.absent_since or now, now)
    if job.spec.managed_by is not None or (view.expected is not None and not job.spec.cancel):
        return []
    match job.status.state:
        case ScheduleState.DONE:
            return _decide_done(view, job, now)
        case ScheduleState.SUSPENDED:
            return decide_suspended(view, job, term, now)
        case ScheduleState.WAITING:
            return decide_waiting(view, job, term, now)
        case _:
            return decide_live(view, job, term, now)


def _decide_done(view: OperatorView, job: Job, now: datetime) -> list[Action]:
    ended = job.status.completion_time or now
    if view.pods:
        return sweep(view, ended, now)
    if job.spec.ttl_after_finished is None or job.deleting:
        return []
    due = ended + job.spec.ttl_after_finished
    return [DeleteJob(job=job)] if now >= due else [CheckAgainAt(due + MOMENT)]
