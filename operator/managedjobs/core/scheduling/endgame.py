"""Jobs that the operator itself brings to an end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.conditions import settle
from managedjobs.core.endings import Ending
from managedjobs.core.fence import moved_fence, operator_fence
from managedjobs.core.model import AttemptRecord, Job, JobStatus
from managedjobs.core.note import Note
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.actions import Action, CheckAgainAt, StopChildJob, Why, WriteStatus
from managedjobs.core.scheduling.sweep import delete
from managedjobs.core.scheduling.view import ChildState, OperatorView
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded

STOP_POLL = timedelta(seconds=2)
"""How often a child Job that is being stopped is looked at."""


def finish(
    job: Job, phase: Phase, reason: Reason, description: str, *, now: datetime, fence: str | None = None
) -> WriteStatus:
    """The write that gives the job its outcome; with `fence` it shuts out every controller as well."""
    text = bounded(description, DESCRIPTION_LIMIT)
    status = replace(
        job.status,
        phase=phase,
        reason=reason.value,
        description=text,
        schedule=replace(job.status.schedule, state=ScheduleState.DONE, position=None, next_retry_time=None),
        controller=moved_fence(job.status, fence) if fence is not None else job.status.controller,
        attempts=_closed(job.status, phase, now),
    )
    return WriteStatus(
        job=job,
        status=settle(job.status, status, generation=job.generation, now=now),
        why=Why.END,
        note=Note(reason=reason.value, text=text, warning=phase is Phase.FAILED),
    )


def take_over(job: Job, term: int, reason: Reason, description: str, *, now: datetime) -> WriteStatus:
    """The write by which the operator becomes the only one that may end the job; no controller can write after it."""
    text = bounded(description, DESCRIPTION_LIMIT)
    status = replace(
        job.status,
        phase=Phase.CANCELLING if reason is Reason.CANCELLING else job.status.phase,
        reason=reason.value,
        description=text,
        schedule=replace(job.status.schedule, position=None),
        controller=moved_fence(job.status, operator_fence(term)),
    )
    return WriteStatus(
        job=job,
        status=settle(job.status, status, generation=job.generation, now=now),
        why=Why.TAKE_OVER,
        note=Note(reason=reason.value, text=text, warning=True),
    )


def conclude(view: OperatorView, job: Job, now: datetime) -> list[Action]:
    """Go on with a job that an operator, of whatever term, took over: stop the child Job, then write the outcome."""
    actions: list[Action] = []
    for pod in view.pods:
        actions += delete(view, pod, now, why="the operator ends the job itself")
    if view.child is not ChildState.STOPPED:
        return [*actions, StopChildJob(job=job), CheckAgainAt(now + STOP_POLL)]
    if job.status.reason == Reason.CONTROLLER_FAILED:
        end = finish(job, Phase.FAILED, Reason.CONTROLLER_FAILED, job.status.description, now=now)
    else:
        end = finish(job, Phase.CANCELLED, Reason.CANCELLED, "Cancelled: stopped by the operator.", now=now)
    return [end]


def _closed(status: JobStatus, phase: Phase, now: datetime) -> tuple[AttemptRecord, ...]:
    """The attempts with the open one closed: its pods were stopped by us, or were never made."""
    ending = Ending.CANCELLED if phase is Phase.CANCELLED else Ending.CONTROLLER_FAILED
    return tuple(
        record if record.end_time is not None else replace(record, end_time=now, ending=ending.value)
        for record in status.attempts
    )
