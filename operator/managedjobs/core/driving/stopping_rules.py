"""Bringing a job to a stop: cancelled, suspended, or failed while its pods still ran."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from managedjobs.core.attempts import end_attempt, has_ended
from managedjobs.core.driving import describe
from managedjobs.core.driving.ending_rules import conclude
from managedjobs.core.driving.situation import NODE_RECHECK, Situation
from managedjobs.core.driving.steps import DeleteChildJob, DeletePod, Look, Step, StopChildJob, Wait, WriteStatus
from managedjobs.core.driving.view import View
from managedjobs.core.endings import Ending, Report
from managedjobs.core.note import Note
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason

HAS_PODS = frozenset({ScheduleState.LAUNCHING, ScheduleState.PARKED, ScheduleState.ALIVE})
"""The states in which the current attempt has not ended, unless its ending is written as the intent to fail."""

STOPPING_PHASES = frozenset({Phase.CANCELLING, Phase.SUSPENDING})
"""The phases by which a stop is announced."""


def stop_on_request(situation: Situation) -> Step | None:
    """Cancel or suspend: say so, stop the child Job, wait for its pods, then write it; None: nobody asked."""
    spec, phase = situation.job.spec, situation.status.phase
    if spec.cancel or phase is Phase.CANCELLING:
        return _announce(situation, Phase.CANCELLING, Reason.CANCELLING) or stop(situation) or _cancelled(situation)
    if spec.suspend or phase is Phase.SUSPENDING:
        return _announce(situation, Phase.SUSPENDING, Reason.SUSPENDING) or stop(situation) or _suspended(situation)
    return None


def finish_failing(situation: Situation) -> Step | None:
    """Go on with a job whose failure is written and whose pods still run; None: it is not such a job."""
    status = situation.status
    if status.state not in HAS_PODS or not has_ended(status) or status.phase in STOPPING_PHASES:
        return None
    if situation.child_ends_by_itself:
        return remove_left_pod(situation) or Wait(recheck(situation))
    return stop(situation) or conclude(situation)


def stop(situation: Situation) -> Step | None:
    """The next step towards the end of all pods of the job; None: it is proven that none runs any more."""
    child = situation.own_child
    if child is not None and not (child.over or child.deleting):
        status = situation.status
        if child.queued or (status.phase is Phase.SUSPENDING and has_ended(status)):
            # Its queue, or a hand, would resume it when nobody watches. Its ending is written before this.
            return DeleteChildJob(uid=child.uid)
        if not child.suspended:
            return StopChildJob(uid=child.uid)
    if situation.own_running_pods:
        return remove_left_pod(situation) or Wait(recheck(situation))
    if not situation.view.fresh:
        return Look()
    return None


def remove_left_pod(situation: Situation) -> DeletePod | Look | None:
    """Remove a pod that is to go and that nobody else ever would: on a lost node, or left behind by its Job."""
    lost = situation.lost_nodes
    pod = next((p for p in situation.own_running_pods if p.deleting and p.node in lost), None)
    if pod is not None:
        return DeletePod(name=pod.name, uid=pod.uid, force=True)
    return remove_orphan(situation.view, situation.job.uid)


def remove_orphan(view: View, job_uid: str) -> DeletePod | Look | None:
    """End a pod of the job whose Job is gone (deleted with `--cascade=orphan`), within its grace period."""
    owner = view.child.uid if view.child else None
    orphans = (p for p in view.pods if p.job_uid == job_uid and not (p.ended or p.deleting))
    pod = next((p for p in orphans if owner is None or p.owner_uid != owner), None)
    if pod is None:
        return None
    return DeletePod(name=pod.name, uid=pod.uid, force=False) if view.fresh else Look()


def recheck(situation: Situation) -> datetime | None:
    """When to look again though nothing changes: a pod's grace period is over, a silent node is asked again."""
    if any(node.unreachable_since or not node.exists for node in situation.view.nodes.values()):
        return situation.now + NODE_RECHECK
    due = [p.deletion_due_at for p in situation.own_running_pods if p.deletion_due_at]
    return max(min(due), situation.now + NODE_RECHECK) if due else None


def _announce(situation: Situation, phase: Phase, reason: Reason) -> WriteStatus | None:
    """The intent, written before the pods are stopped; not worth a write when there is nothing to stop."""
    if situation.status.phase is phase or not _has_something_to_stop(situation):
        return None
    status = situation.status
    child = situation.own_child
    goes = child is not None and (child.queued or phase is Phase.SUSPENDING)
    if goes and status.state in HAS_PODS:
        # It is going to be deleted, and an ending is written before anything of its attempt is.
        ending = Ending.CANCELLED if phase is Phase.CANCELLING else Ending.SUSPENDED
        report = Report(ending=ending)
        status = end_attempt(status, report, describe.cause(report, situation.number), situation.now)
    text = describe.stopping(phase.value, situation.number)
    return situation.write(
        replace(
            status,
            phase=phase,
            reason=reason.value,
            description=text,
            schedule=replace(status.schedule, position=None, next_retry_time=None),
        ),
        Note(reason=reason.value, text=text),
    )


def _has_something_to_stop(situation: Situation) -> bool:
    child = situation.own_child
    return bool(situation.own_running_pods) or (child is not None and not child.over)


def _cancelled(situation: Situation) -> WriteStatus:
    report = Report(ending=Ending.CANCELLED)
    return situation.done(
        end_attempt(situation.status, report, describe.cause(report, situation.number), situation.now),
        phase=Phase.CANCELLED,
        reason=Reason.CANCELLED,
        description=describe.cancelled(situation.number),
        exit_code=None,
    )


def _suspended(situation: Situation) -> WriteStatus:
    report = Report(ending=Ending.SUSPENDED)
    return situation.move(
        end_attempt(situation.status, report, describe.cause(report, situation.number), situation.now),
        state=ScheduleState.SUSPENDED,
        phase=Phase.SUSPENDED,
        reason=Reason.SUSPENDED,
        description=describe.suspended(situation.number),
    )
