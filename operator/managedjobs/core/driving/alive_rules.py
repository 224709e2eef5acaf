"""Alive: the attempt is up; what ends it, and what parks it. And the time between two attempts."""

from __future__ import annotations

from dataclasses import replace

from managedjobs.core.attempts import record_of
from managedjobs.core.driving import describe
from managedjobs.core.driving.create_rules import discard
from managedjobs.core.driving.ending_rules import end
from managedjobs.core.driving.launch_rules import ending_step, park
from managedjobs.core.driving.observe import pods_of
from managedjobs.core.driving.situation import Situation, earliest
from managedjobs.core.driving.steps import Look, Step, Wait
from managedjobs.core.driving.stopping_rules import recheck, remove_left_pod
from managedjobs.core.driving.view import ChildJob, Pod
from managedjobs.core.endings import Ending, Report
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason


def watch_over(situation: Situation) -> Step:
    """The next step of an attempt that is up."""
    child = situation.current_child
    if child is None:
        return end(situation, Report(ending=Ending.CHILD_JOB_DELETED)) if situation.view.fresh else Look()
    if child.held:
        return park(situation, describe.suspended_from_outside(situation.number))
    pods = pods_of(child, situation.view.pods)
    return ending_step(situation, child, pods) or _go_on(situation, child, pods)


def between_attempts(situation: Situation) -> Step:
    """Clear away what is left of the ended attempt; ask for a launch slot when the backoff is over.

    The launch slot itself, and with it the next attempt, is the operator's to give.
    """
    child = situation.own_child
    if child is not None and not child.deleting:
        return discard(situation, child)
    lost = remove_left_pod(situation)
    if lost is not None:
        return lost
    look_again = recheck(situation) if situation.own_running_pods else None
    if situation.status.state is ScheduleState.ALIVE_WAITING:
        return Wait(look_again)
    due = situation.status.schedule.next_retry_time
    if due is not None and situation.now < due:
        return Wait(earliest(due, look_again))
    status = situation.status
    text = describe.recovering_again(record_of(status).message or "", situation.number)
    return situation.write(
        replace(
            status,
            phase=Phase.RECOVERING,
            reason=Reason.RECOVERING.value,
            description=text,
            schedule=replace(status.schedule, state=ScheduleState.ALIVE_WAITING, next_retry_time=None),
        )
    )


def _go_on(situation: Situation, child: ChildJob, pods: tuple[Pod, ...]) -> Step:
    policy = situation.job.spec.recovery.node_lost
    for pod in pods:
        node = situation.view.nodes.get(pod.node or "")
        if pod.ended or node is None or node.unreachable_since is None:
            continue
        recovery_at = node.unreachable_since + policy.timeout if policy.relaunch else None
        text = describe.node_silent(situation.number, pod.index, node.name, recovery_at)
        until = earliest(recovery_at, recheck(situation))
        return situation.say(Reason.RUNNING, text, until=until)
    if any(pod.deletion_due_at for pod in pods if not pod.ended):
        return Wait(recheck(situation))
    text = describe.running(situation.number, situation.job.spec.replicas)
    return situation.say(Reason.RUNNING, text)
