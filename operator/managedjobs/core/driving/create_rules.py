"""Launching, before there is a child Job: the name must be free, and proven to be, before the attempt is created."""

from __future__ import annotations

from datetime import datetime

from managedjobs.core.attempts import earlier_records
from managedjobs.core.driving import describe
from managedjobs.core.driving.ending_rules import end
from managedjobs.core.driving.situation import Situation, earliest
from managedjobs.core.driving.steps import CreateChildJob, CreateService, DeleteChildJob, Look, Step, Wait
from managedjobs.core.driving.stopping_rules import recheck, remove_left_pod
from managedjobs.core.driving.view import ChildJob, RefusalKind
from managedjobs.core.endings import Ending, Report
from managedjobs.core.reasons import Reason

_REFUSED = {
    RefusalKind.INVALID: Ending.INVALID_TEMPLATE,
    RefusalKind.NOT_ALLOWED: Ending.NOT_ALLOWED,
    RefusalKind.QUOTA: Ending.QUOTA_EXCEEDED,
    RefusalKind.NAMESPACE_TERMINATING: Ending.NAMESPACE_TERMINATING,
}


def clear_name(situation: Situation, child: ChildJob, until: datetime | None) -> Step:
    """What to do about a Job of the job's name that is not the child Job of the current attempt."""
    if child.made_for(situation.job.uid):
        if not child.deleting:
            return discard(situation, child)
        return _wait_for_old_pods(situation, until)
    if child.deleting or child.owner_is_managed_job:
        what = f"the child Job {child.name}"
        return situation.say(
            Reason.PREDECESSOR_ENDING, describe.predecessor_ending(situation.number, what), until=until
        )
    if not situation.view.fresh:
        return Look()
    return _name_taken(situation, "Job", child.name)


def discard(situation: Situation, child: ChildJob) -> Step:
    """Delete the child Job of an attempt that has ended.

    One of a later attempt than the status knows means that the status is old news: another controller made it.
    """
    if child.attempt is not None and child.attempt > situation.number:
        return Wait() if situation.view.fresh else Look()
    return DeleteChildJob(uid=child.uid)


def create(situation: Situation, until: datetime | None) -> Step:
    """Create the child Job once a live list shows no Job and no running pod of its name, of any attempt and owner."""
    view, job = situation.view, situation.job
    if situation.own_running_pods:
        return _wait_for_old_pods(situation, until)
    foreign = next((pod for pod in view.pods if not pod.ended), None)
    if foreign is not None:
        text = describe.predecessor_ending(situation.number, f"pod {foreign.name}")
        return situation.say(Reason.PREDECESSOR_ENDING, text, until=until)
    not_yet = _refused_for_now(situation, until)
    if not_yet is not None:
        return not_yet
    if not view.fresh:
        return Look()
    refused = _refused(situation)
    if refused is not None:
        return refused
    if job.spec.replicas > 1 and (view.service is None or view.service.owner_uid != job.uid):
        return _service(situation, until)
    return CreateChildJob(attempt=situation.number, prefer_node=_last_node(situation))


def _wait_for_old_pods(situation: Situation, until: datetime | None) -> Step:
    said = situation.say(Reason.LAUNCHING, describe.old_pods_ending(situation.number), until=until)
    if isinstance(said, Wait):
        return remove_left_pod(situation) or Wait(earliest(said.until, recheck(situation)))
    return said


def _name_taken(situation: Situation, kind: str, name: str) -> Step:
    return end(situation, Report(ending=Ending.NAME_TAKEN, detail=describe.name_taken(kind, name)))


def _refused_for_now(situation: Situation, until: datetime | None) -> Step | None:
    refusal = situation.view.refusal
    if refusal is None or refusal.attempt != situation.number or refusal.kind is not RefusalKind.TEMPORARY:
        return None
    if refusal.retry_at is None or situation.now >= refusal.retry_at:
        return None
    text = describe.refused_for_now(situation.number, refusal.message)
    return situation.say(Reason.LAUNCHING, text, until=earliest(until, refusal.retry_at))


def _refused(situation: Situation) -> Step | None:
    refusal = situation.view.refusal
    if refusal is None or refusal.attempt != situation.number or refusal.kind is RefusalKind.TEMPORARY:
        return None
    return end(situation, Report(ending=_REFUSED[refusal.kind], detail=refusal.message))


def _service(situation: Situation, until: datetime | None) -> Step:
    service = situation.view.service
    if service is None:
        return CreateService()
    if service.deleting:
        text = describe.predecessor_ending(situation.number, f"the Service {service.name}")
        return situation.say(Reason.PREDECESSOR_ENDING, text, until=until)
    return _name_taken(situation, "Service", service.name)


def _last_node(situation: Situation) -> str | None:
    """The node that the strategy SameNodeFirst tries first; only a job of one pod has one."""
    spec = situation.job.spec
    if spec.recovery.strategy != "SameNodeFirst" or spec.replicas > 1:
        return None
    earlier = earlier_records(situation.status)
    return earlier[-1].node_name if earlier else None
