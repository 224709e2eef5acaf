"""What the operator does about a job that waits for its first controller, or is suspended."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.conditions import ADMITTED, find_condition, settle
from managedjobs.core.fence import moved_fence, operator_fence, revoked_fence
from managedjobs.core.model import Job, Schedule
from managedjobs.core.note import Note
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.actions import MOMENT, Action, CheckAgainAt, Why, WriteStatus
from managedjobs.core.scheduling.budget import counted_failure, is_spent, newest_failure
from managedjobs.core.scheduling.controller_pod import ControllerPod, gone_for_good
from managedjobs.core.scheduling.endgame import finish
from managedjobs.core.scheduling.sweep import delete, look_again, sweep
from managedjobs.core.scheduling.view import OperatorView
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded, seconds

TAKEOVER_PATIENCE = timedelta(seconds=120)
"""How long a controller pod that has a node may take to take its job over."""
SAY_STARTING_AFTER = timedelta(seconds=2)


def decide_waiting(view: OperatorView, job: Job, term: int, now: datetime) -> list[Action]:
    """End or suspend the waiting job, revoke a claim that came to nothing, say why a claimed one has not started.

    Claiming itself is decided over all jobs of a pool, in `admission`.
    """
    end = _end_of_wait(job, term, now)
    if end is not None:
        return [end]
    if job.spec.suspend:
        return [_suspended(view, job, now)]
    return _tend_claim(view, job, term, now) + _deadline(job, now)


def decide_suspended(view: OperatorView, job: Job, term: int, now: datetime) -> list[Action]:
    """Sweep the suspended job's pods; queue it again, or cancel it, once nothing of it runs."""
    if job.spec.cancel:
        return [_cancelled(job, term, now)]
    if view.pods:
        return sweep(view, _since(job, now), now)
    if job.spec.suspend or view.expected is not None:
        return []
    status = replace(
        job.status,
        phase=Phase.PENDING,
        reason=Reason.QUEUED.value,
        description="Queued: resumed.",
        schedule=Schedule(state=ScheduleState.WAITING, queue_time=now, leader_term=job.status.schedule.leader_term),
    )
    note = Note(reason=Reason.QUEUED.value, text="Resumed: back in the queue.")
    settled = settle(job.status, status, generation=job.generation, now=now)
    return [WriteStatus(job=job, status=settled, why=Why.RESUME, note=note)]


def _since(job: Job, now: datetime) -> datetime:
    admitted = find_condition(job.status.conditions, ADMITTED)
    return (admitted.last_transition_time if admitted else None) or now


def _end_of_wait(job: Job, term: int, now: datetime) -> WriteStatus | None:
    spec = job.spec
    if spec.cancel:
        return _cancelled(job, term, now)
    fence = operator_fence(term)
    if spec.unsupported:
        fields = " and ".join(spec.unsupported)
        text = f"Failed: this version does not carry out {fields} yet; remove it, or use a newer version."
        return finish(job, Phase.FAILED, Reason.NOT_SUPPORTED, text, now=now, fence=fence)
    limit = _queue_deadline(job)
    if limit is not None and now >= limit and spec.queue_timeout is not None:
        text = f"Failed: not up within {seconds(spec.queue_timeout)} (spec.queueTimeoutSeconds) in pool {spec.pool}."
        return finish(job, Phase.FAILED, Reason.QUEUE_TIMEOUT, text, now=now, fence=fence)
    return None


def _cancelled(job: Job, term: int, now: datetime) -> WriteStatus:
    text = "Cancelled: before it ran." if not job.status.attempts else "Cancelled: while it was not running."
    return finish(job, Phase.CANCELLED, Reason.CANCELLED, text, now=now, fence=operator_fence(term))


def _queue_deadline(job: Job) -> datetime | None:
    if job.spec.queue_timeout is None or job.status.first_up_time is not None:
        return None
    return job.queue_time + job.spec.queue_timeout


def _deadline(job: Job, now: datetime) -> list[Action]:
    limit = _queue_deadline(job)
    return [] if limit is None else [CheckAgainAt(limit + MOMENT)]


def _suspended(view: OperatorView, job: Job, now: datetime) -> WriteStatus:
    claims = view.claims()
    controller = moved_fence(job.status, revoked_fence(claims[0].uid)) if claims else job.status.controller
    status = replace(
        job.status,
        phase=Phase.SUSPENDED,
        reason=Reason.SUSPENDED.value,
        description="Suspended: it waits for spec.suspend to be false.",
        schedule=replace(job.status.schedule, state=ScheduleState.SUSPENDED, position=None),
        controller=controller,
    )
    note = Note(reason=Reason.SUSPENDED.value, text="Suspended before it ran.")
    settled = settle(job.status, status, generation=job.generation, now=now)
    return WriteStatus(job=job, status=settled, why=Why.SUSPEND, note=note)


def _tend_claim(view: OperatorView, job: Job, term: int, now: datetime) -> list[Action]:
    fence = job.status.fence
    for gone in view.vanished:
        if gone.predecessor == fence:
            return [_revoked(job, gone.uid, gone.failed_at, "disappeared", term, now)]
    actions: list[Action] = []
    for pod in view.pods:
        if pod.predecessor != fence:
            actions += delete(view, pod, now, why="its claim was revoked")
            actions += look_again(view, pod, now)
            continue
        trouble = _claim_trouble(view, pod, now)
        if trouble is not None:
            return [_revoked(job, pod.uid, pod.failed_at, trouble, term, now)]
        actions += look_again(view, pod, now)
        actions += _say_starting(job, pod, now)
        if pod.unschedulable is None:
            actions.append(CheckAgainAt(pod.created + TAKEOVER_PATIENCE + MOMENT))
    return actions


def _claim_trouble(view: OperatorView, pod: ControllerPod, now: datetime) -> str | None:
    """What became of a claim's pod that will not take the job over; None: it still may."""
    if pod.ended:
        return "ended before it started the job"
    if pod.deletion_time is not None:
        return "was deleted before it started the job"
    if gone_for_good(pod, view.unready_since, now):
        return f"was lost with node {pod.node_name}"
    if pod.unschedulable is None and now - pod.created > TAKEOVER_PATIENCE:
        trouble = f" ({pod.waiting})" if pod.waiting else ""
        return f"did not start within {seconds(TAKEOVER_PATIENCE)}{trouble}"
    return None


def _revoked(
    job: Job, pod_uid: str, failed_at: datetime | None, trouble: str, term: int, now: datetime
) -> WriteStatus:
    controller = moved_fence(job.status, revoked_fence(pod_uid))
    failure = newest_failure(job.status, [failed_at])
    if failure is not None:
        controller = counted_failure(controller, failure)
    if is_spent(controller):
        text = f"Failed: the controller failed {controller.failures} times by its own fault; its pod {trouble}."
        return finish(job, Phase.FAILED, Reason.CONTROLLER_FAILED, text, now=now, fence=operator_fence(term))
    text = bounded(f"Waiting: the controller pod {trouble}; another one will be made.", DESCRIPTION_LIMIT)
    status = replace(job.status, reason=Reason.QUEUED.value, description=text, controller=controller)
    return WriteStatus(
        job=job,
        status=settle(job.status, status, generation=job.generation, now=now),
        why=Why.REVOKE,
        note=Note(reason="ClaimRevoked", text=text, warning=True),
    )


def _say_starting(job: Job, pod: ControllerPod, now: datetime) -> list[Action]:
    if now - pod.created < SAY_STARTING_AFTER:
        return [CheckAgainAt(pod.created + SAY_STARTING_AFTER + MOMENT)]
    text = bounded(f"Starting: the controller pod {_what_it_waits_for(pod)}.", DESCRIPTION_LIMIT)
    if text == job.status.description:
        return []
    schedule = replace(job.status.schedule, position=None)
    status = replace(job.status, reason=Reason.STARTING.value, description=text, schedule=schedule)
    settled = settle(job.status, status, generation=job.generation, now=now)
    return [WriteStatus(job=job, status=settled, why=Why.TEXT)]


def _what_it_waits_for(pod: ControllerPod) -> str:
    if pod.unschedulable is not None:
        return f"is unschedulable: {pod.unschedulable.rstrip('.')}" if pod.unschedulable else "is unschedulable"
    if not pod.scheduled:
        return "waits for a node"
    where = f" on node {pod.node_name}" if pod.node_name else ""
    if pod.waiting:
        return f"is not up{where}: {pod.waiting.rstrip('.')}"
    return f"is starting{where}"
