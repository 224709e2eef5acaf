"""Launching and parked: from the written attempt to an attempt that is up, or did not come up."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.attempts import current_attempt, record_of, with_record
from managedjobs.core.driving import describe
from managedjobs.core.driving.create_rules import clear_name, create
from managedjobs.core.driving.ending_rules import end
from managedjobs.core.driving.failures import BelieveAt, NeedLastLine, find_ending
from managedjobs.core.driving.observe import (
    SUSPENSION_IS_MEANT_AFTER,
    Launch,
    invalid_image,
    observe_launch,
    pods_of,
)
from managedjobs.core.driving.situation import Situation, earliest
from managedjobs.core.driving.steps import Look, ReadLastLine, Step, Wait, WriteStatus
from managedjobs.core.driving.view import ChildJob, Pod, RefusalKind
from managedjobs.core.endings import Ending, Report
from managedjobs.core.model import JobStatus
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason

PARKED_AFTER = timedelta(seconds=30)
"""So long nothing but others must be missing before the launch slot goes to somebody else (DESIGN 2)."""
_FINAL_REFUSALS = {
    RefusalKind.NOT_ALLOWED: Ending.NOT_ALLOWED,
    RefusalKind.INVALID: Ending.INVALID_TEMPLATE,
}
"""Refusals of a pod that no second try can cure."""
WORDS_SETTLE = timedelta(seconds=5)
"""An attempt that is up so soon needs no words about its launch: its takeover or grant has said enough."""


def launch(situation: Situation) -> Step:
    """The next step of an attempt that is launching or parked."""
    child = situation.view.child
    if child is None or situation.own_child is None or child.attempt != situation.number:
        if situation.status.state is ScheduleState.PARKED:
            # It had one. To create another needs a launch slot, which a parked job has given back.
            return _child_is_gone(situation)
        late = _too_late(situation, None)
        if late is not None:
            return late
        until = _deadline(situation, None)
        return create(situation, until) if child is None else clear_name(situation, child, until)
    if child.deleting:
        return _child_is_gone(situation)
    return _follow(situation, child, pods_of(child, situation.view.pods))


def _child_is_gone(situation: Situation) -> Step:
    return end(situation, Report(ending=Ending.CHILD_JOB_DELETED)) if situation.view.fresh else Look()


def ending_step(situation: Situation, child: ChildJob, pods: tuple[Pod, ...]) -> Step | None:
    """The step that an ending of the attempt asks for; None: nothing ended.

    A pod's end counts only while a live read shows the child Job as not suspended: a queue that suspends it
    takes its pods away, and that ends no attempt.
    """
    found = find_ending(
        child,
        pods,
        now=situation.now,
        lost_nodes=situation.lost_nodes,
        last_lines=situation.view.last_lines,
    )
    if found is None:
        return None
    if not situation.view.fresh:
        return Look()
    if isinstance(found, BelieveAt):
        return Wait(found.moment)
    if isinstance(found, NeedLastLine):
        return ReadLastLine(pod=found.pod.name, pod_uid=found.pod.uid, container=found.container)
    return end(situation, found)


def park(situation: Situation, description: str) -> WriteStatus:
    """Give the launch slot back: the attempt waits only for others. The phase Running ends with it."""
    status = situation.status
    current = replace(current_attempt(status), up_time=None, pods_ready=0)
    phase = Phase.RECOVERING if status.phase is Phase.RUNNING else status.phase
    return situation.move(
        replace(status, current_attempt=current),
        state=ScheduleState.PARKED,
        phase=phase,
        reason=Reason.PARKED,
        description=description,
    )


def _follow(situation: Situation, child: ChildJob, pods: tuple[Pod, ...]) -> Step:
    if child.held:
        return _suspended_outside(situation, child)
    wrong = _incurable(situation, pods)
    if wrong is not None:
        return end(situation, wrong)
    ending = ending_step(situation, child, pods)
    if ending is not None:
        return ending
    seen = observe_launch(child, pods, situation.job.spec.replicas, situation.view.refusal)
    if seen.up:
        return _up(situation, child, seen)
    return _too_late(situation, seen) or _park_when_due(situation, seen) or _keep_waiting(situation, seen)


def _up(situation: Situation, child: ChildJob, seen: Launch) -> WriteStatus:
    return situation.move(
        come_up(situation.status, seen, child.uid, situation.now),
        state=ScheduleState.ALIVE,
        phase=Phase.RUNNING,
        reason=Reason.RUNNING,
        description=describe.running(situation.number, situation.job.spec.replicas),
    )


def come_up(status: JobStatus, launch: Launch, job_uid: str, now: datetime) -> JobStatus:
    """Write down that the current attempt is up."""
    current = current_attempt(status)
    return replace(
        status,
        current_attempt=replace(current, job_uid=job_uid, up_time=now, pods_ready=launch.ready),
        attempts=with_record(status, replace(record_of(status), node_name=launch.main_node)),
        first_up_time=status.first_up_time or now,
        launch_failure_count=0,
    )


def _suspended_outside(situation: Situation, child: ChildJob) -> Step:
    text = describe.suspended_from_outside(situation.number)
    if situation.status.state is ScheduleState.PARKED:
        return situation.say(Reason.PARKED, text)
    due = (child.suspended_at or child.created) + SUSPENSION_IS_MEANT_AFTER
    return park(situation, text) if situation.now >= due else Wait(due)


def _incurable(situation: Situation, pods: tuple[Pod, ...]) -> Report | None:
    wrong = invalid_image(pods)
    if wrong is not None:
        pod, container = wrong
        return Report(
            ending=Ending.INVALID_IMAGE_NAME,
            index=pod.index,
            detail=f"the image of container {container.name} is not a valid name: {container.waiting_message}",
        )
    refusal = situation.view.refusal
    if refusal is None or refusal.attempt != situation.number or refusal.kind not in _FINAL_REFUSALS:
        return None
    return Report(ending=_FINAL_REFUSALS[refusal.kind], detail=refusal.message)


def _too_late(situation: Situation, seen: Launch | None) -> WriteStatus | None:
    deadline = _deadline(situation, seen)
    if deadline is None or situation.now < deadline:
        return None
    detail = describe.not_started(seen, situation.number, situation.job.spec.launch_timeout)
    return end(situation, Report(ending=Ending.NOT_STARTED, detail=detail))


def _deadline(situation: Situation, seen: Launch | None) -> datetime | None:
    """When `launchTimeoutSeconds` is over: it runs while launching, and while parked if pods occupy nodes."""
    if situation.status.state is ScheduleState.PARKED:
        since = seen.holding_since if seen else None
    else:
        since = current_attempt(situation.status).start_time
    return since + situation.job.spec.launch_timeout if since else None


def _park_when_due(situation: Situation, seen: Launch) -> WriteStatus | None:
    if situation.status.state is ScheduleState.PARKED or not seen.waits_only_for_others:
        return None
    if situation.now < seen.quiet_since + PARKED_AFTER:
        return None
    return park(situation, describe.launching(seen, situation.number, parked=True))


def _keep_waiting(situation: Situation, seen: Launch) -> Step:
    parked = situation.status.state is ScheduleState.PARKED
    park_at = seen.quiet_since + PARKED_AFTER if seen.waits_only_for_others and not parked else None
    until = earliest(_deadline(situation, seen), park_at)
    started = current_attempt(situation.status).start_time
    if started is not None and situation.now < started + WORDS_SETTLE:
        return Wait(earliest(until, started + WORDS_SETTLE))
    reason = Reason.PARKED if parked else Reason.LAUNCHING
    return situation.say(reason, describe.launching(seen, situation.number, parked=parked), until=until)
