"""The controller's side of the protocol (DESIGN 3.3): one small step at a time, from what is there now.

Every rule reads the present and nothing else, so that a controller that starts anywhere in a job's life, after any
crash, goes on as the one before it would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from managedjobs.core.attempts import begin_attempt, current_attempt, end_attempt, has_ended, time_without_slots
from managedjobs.core.driving import describe
from managedjobs.core.driving.alive_rules import between_attempts, watch_over
from managedjobs.core.driving.ending_rules import end
from managedjobs.core.driving.launch_rules import come_up, launch
from managedjobs.core.driving.observe import observe_launch, pods_of
from managedjobs.core.driving.situation import Situation, earliest
from managedjobs.core.driving.steps import DeleteChildJob, Exit, Look, Step, Wait, WriteStatus
from managedjobs.core.driving.stopping_rules import (
    HAS_PODS,
    STOPPING_PHASES,
    finish_failing,
    remove_orphan,
    stop,
    stop_on_request,
)
from managedjobs.core.driving.view import Me, View
from managedjobs.core.endings import FATAL_ENDINGS, Ending, Report
from managedjobs.core.fence import moved_fence
from managedjobs.core.model import Job, JobStatus
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.text import seconds


def decide_step(view: View, me: Me, now: datetime) -> Step:
    """The one next step of the controller `me`; Exit when the job is not, or no longer, its own to drive."""
    job = view.job
    if job is None or job.uid != me.job_uid:
        return _after_the_job(view, me)
    status = job.status
    if status.state is ScheduleState.DONE and status.fence == me.pod_uid:
        return _tidy(view, me)
    if status.state in (ScheduleState.DONE, ScheduleState.SUSPENDED):
        return Exit(why=f"the job is {status.phase}")
    situation = Situation(job=job, view=view, me=me, now=now)
    if status.fence == me.pod_uid:
        if status.state is ScheduleState.WAITING:
            return Exit(why="the job was queued again, for another controller")
        return _drive(situation)
    if status.fence != me.predecessor:
        return Exit(why="another controller has taken over the job, or this one was shut out")
    return _take_over(situation)


def _after_the_job(view: View, me: Me) -> Step:
    """The job is gone, perhaps without its child Job (`--cascade=orphan`): nobody else would end that."""
    if not view.fresh:
        return Look()
    child = view.child
    if child is not None and child.made_for(me.job_uid) and not child.deleting:
        return DeleteChildJob(uid=child.uid)
    return remove_orphan(view, me.job_uid) or Exit(why="the job is gone")


def _tidy(view: View, me: Me) -> Step:
    """The last child Job stays for its logs, unless the installation says otherwise."""
    child = view.child
    if not me.keep_jobs and child is not None and child.made_for(me.job_uid) and not child.deleting:
        return DeleteChildJob(uid=child.uid)
    return Exit(why="the job is finished")


def _take_over(situation: Situation) -> Step:
    job, me = situation.job, situation.me
    controller = replace(
        moved_fence(job.status, me.pod_uid), pod_name=me.pod_name, node_name=me.node_name, version=me.version
    )
    if job.status.state is not ScheduleState.WAITING:
        return WriteStatus(status=replace(job.status, controller=controller))
    if job.spec.cancel or job.spec.suspend:
        return Wait()
    status = begin_attempt(
        replace(_without_suspension(job, situation.now), controller=controller),
        job_name=job.name,
        replicas=job.spec.replicas,
        now=situation.now,
    )
    return situation.move(
        status,
        state=ScheduleState.LAUNCHING,
        phase=Phase.LAUNCHING,
        reason=Reason.LAUNCHING,
        description=describe.creating(status.attempt_count, job.spec.replicas),
    )


def _without_suspension(job: Job, now: datetime) -> JobStatus:
    """The status with the time that the job was suspended taken out of `activeDeadlineSeconds`."""
    first_up = job.status.first_up_time
    if first_up is None:
        return job.status
    return replace(job.status, first_up_time=first_up + time_without_slots(job.status, now))


def _drive(situation: Situation) -> Step:
    step = _first_step(situation)
    if isinstance(step, Wait):
        ahead = (moment for moment, _ in _limits(situation) if moment > situation.now)
        return Wait(earliest(step.until, *ahead))
    return step


def _first_step(situation: Situation) -> Step:
    for rule in _RULES:
        step = rule(situation)
        if step is not None:
            return step
    return _BY_STATE[situation.status.state](situation)


def _being_deleted(situation: Situation) -> Step | None:
    """The object is on its way out: its pods go with it, and nothing new is begun."""
    if not situation.job.deleting:
        return None
    child = situation.own_child
    return DeleteChildJob(uid=child.uid) if child is not None and not child.deleting else Wait()


def _succeeded(situation: Situation) -> Step | None:
    """Success counts before anything that could still end the attempt, except what was already announced."""
    child, status = situation.current_child, situation.status
    announced = status.phase in STOPPING_PHASES or has_ended(status)
    if status.state not in HAS_PODS or announced or child is None or not child.complete:
        return None
    if current_attempt(status).up_time is None:
        replicas = situation.job.spec.replicas
        seen = observe_launch(child, pods_of(child, situation.view.pods), replicas, None)
        status = come_up(status, seen, child.uid, situation.now)
    report = Report(ending=Ending.SUCCEEDED, exit_code=0)
    return situation.done(
        end_attempt(status, report, "", situation.now),
        phase=Phase.SUCCEEDED,
        reason=Reason.SUCCEEDED,
        description=describe.succeeded(situation.number, situation.job.spec.replicas),
        exit_code=0,
    )


def _over_a_limit(situation: Situation) -> Step | None:
    """Past a deadline of the whole job there is no further attempt."""
    report = next((report for moment, report in _limits(situation) if situation.now >= moment), None)
    if report is None:
        return None
    if situation.status.state in HAS_PODS:
        return end(situation, report)
    text = describe.failed(report, situation.number, restarts_used=0, restarts_allowed=0)
    return stop(situation) or situation.done(
        situation.status, phase=Phase.FAILED, reason=FATAL_ENDINGS[report.ending], description=text, exit_code=None
    )


def _limits(situation: Situation) -> list[tuple[datetime, Report]]:
    """The deadlines of the whole job that apply now, each with the ending that it brings."""
    spec, status = situation.job.spec, situation.status
    if status.first_up_time is not None:
        if spec.active_deadline is None:
            return []
        words = f"not finished within {seconds(spec.active_deadline)} (spec.activeDeadlineSeconds)"
        return [(status.first_up_time + spec.active_deadline, Report(ending=Ending.DEADLINE_EXCEEDED, detail=words))]
    if spec.queue_timeout is None:
        return []
    words = f"not up within {seconds(spec.queue_timeout)} (spec.queueTimeoutSeconds)"
    return [(situation.job.queue_time + spec.queue_timeout, Report(ending=Ending.QUEUE_TIMEOUT, detail=words))]


_RULES: tuple[Callable[[Situation], Step | None], ...] = (
    _being_deleted,
    _succeeded,
    finish_failing,
    stop_on_request,
    _over_a_limit,
)
"""What comes before the state's own rule, in this order."""

_BY_STATE: dict[ScheduleState, Callable[[Situation], Step]] = {
    ScheduleState.LAUNCHING: launch,
    ScheduleState.PARKED: launch,
    ScheduleState.ALIVE: watch_over,
    ScheduleState.ALIVE_BACKOFF: between_attempts,
    ScheduleState.ALIVE_WAITING: between_attempts,
}
