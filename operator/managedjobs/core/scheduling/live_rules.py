"""What the operator does about a job that was taken over: keep one controller running for it, or end it itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.conditions import settle
from managedjobs.core.fence import is_operator_fence
from managedjobs.core.model import Job
from managedjobs.core.note import Note
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.actions import MOMENT, Action, CheckAgainAt, CreateControllerPod, Why, WriteStatus
from managedjobs.core.scheduling.budget import counted_failure, is_spent, newest_failure
from managedjobs.core.scheduling.controller_pod import ControllerPod, gone_for_good
from managedjobs.core.scheduling.endgame import conclude, take_over
from managedjobs.core.scheduling.queue_rules import TAKEOVER_PATIENCE
from managedjobs.core.scheduling.sweep import delete, look_again
from managedjobs.core.scheduling.view import OperatorView

CANCEL_PATIENCE = timedelta(seconds=30)
"""How long a cancelled job may be without a controller before the operator stops it itself."""


def decide_live(view: OperatorView, job: Job, term: int, now: datetime) -> list[Action]:
    """Ended controllers are removed and replaced, obsolete ones deleted; a budget and a cancel have their limits.

    Granting launch slots is decided over all jobs of a pool, in `admission`.
    """
    if is_operator_fence(job.status.fence):
        return conclude(view, job, now)
    ours = tuple(pod for pod in view.pods if job.status.fence in (pod.uid, pod.predecessor))
    write = _count_failures(job, ours, term, now) or _end_without_controller(view, job, term, now)
    if write is not None:
        return [write]
    return _keep_one_controller(view, job, ours, now) + _cancel_deadline(view, job)


def _count_failures(job: Job, ours: tuple[ControllerPod, ...], term: int, now: datetime) -> WriteStatus | None:
    controller = job.status.controller
    failure = newest_failure(job.status, [pod.failed_at for pod in ours])
    if failure is None or controller is None:
        return None
    counted = counted_failure(controller, failure)
    if is_spent(counted):
        text = (
            f"Failed: the controller failed {counted.failures} times by its own fault, last at "
            f"{failure:%H:%M:%SZ}; the operator stops the job. This is a bug worth reporting."
        )
        return take_over(job, term, Reason.CONTROLLER_FAILED, text, now=now)
    status = replace(job.status, controller=counted)
    note = Note(
        reason="ControllerRestarted",
        text=f"The controller failed by its own fault, {counted.failures} times in a row; it is started again.",
        warning=True,
    )
    settled = settle(job.status, status, generation=job.generation, now=now)
    return WriteStatus(job=job, status=settled, why=Why.COUNT_FAILURE, note=note)


def _end_without_controller(view: OperatorView, job: Job, term: int, now: datetime) -> WriteStatus | None:
    since = view.uncontrolled_since
    if not job.spec.cancel or since is None or now - since < CANCEL_PATIENCE:
        return None
    text = "Cancelling: no controller could start; the operator stops the pods itself."
    return take_over(job, term, Reason.CANCELLING, text, now=now)


def _cancel_deadline(view: OperatorView, job: Job) -> list[Action]:
    if not job.spec.cancel or view.uncontrolled_since is None:
        return []
    return [CheckAgainAt(view.uncontrolled_since + CANCEL_PATIENCE + MOMENT)]


def _keep_one_controller(view: OperatorView, job: Job, ours: tuple[ControllerPod, ...], now: datetime) -> list[Action]:
    actions: list[Action] = []
    is_covered = False
    has_dead = False
    for pod in view.pods:
        actions += look_again(view, pod, now)
        if pod not in ours:
            actions += delete(view, pod, now, why="another controller drives its job")
        elif gone_for_good(pod, view.unready_since, now):
            has_dead = True
            actions += delete(view, pod, now, why="it has ended, or can't be reached")
        elif _is_overdue(pod, job, now):
            has_dead = True
            actions += delete(view, pod, now, why="it did not take its job over in time")
        else:
            is_covered = True
            actions += _takeover_deadline(pod, job)
    if not is_covered and not has_dead and view.expected is None and not job.deleting:
        actions.append(CreateControllerPod(job=job, predecessor=job.status.fence, is_claim=False, read_first=True))
    return actions


def _is_overdue(pod: ControllerPod, job: Job, now: datetime) -> bool:
    waits = pod.uid != job.status.fence and pod.unschedulable is None
    return waits and now - pod.created > TAKEOVER_PATIENCE


def _takeover_deadline(pod: ControllerPod, job: Job) -> list[Action]:
    if pod.uid == job.status.fence or pod.unschedulable is not None:
        return []
    return [CheckAgainAt(pod.created + TAKEOVER_PATIENCE + MOMENT)]
