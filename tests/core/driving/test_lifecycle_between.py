"""Between two attempts, and the limits of the whole job."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import (
    CreateChildJob,
    DeleteChildJob,
    DeletePod,
    StopChildJob,
    Wait,
    WriteStatus,
)
from managedjobs.core.driving.view import (
    Node,
)
from managedjobs.core.model import NodeLost, RecoveryPolicy, Schedule
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from tests.support.driven import ME, NOW, ago, child, driven, pod, view
from tests.support.driving import decided, job_with, outcome, written

LAUNCHING = driven(ScheduleState.LAUNCHING, started=10)
ALIVE = driven()


SILENT = {"node-0": Node(name="node-0", unreachable_since=ago(30))}
LOST = {"node-0": Node(name="node-0", unreachable_since=ago(60))}
PATIENT = RecoveryPolicy(node_lost=NodeLost(relaunch=False))


def test_the_pods_of_a_lost_node_are_removed_so_that_the_name_becomes_free():
    waiting = driven(ScheduleState.ALIVE_WAITING)
    going = pod(0, deletion_asked_at=ago(99), deletion_due_at=ago(69))
    assert decided(waiting, going, child=child(), nodes=LOST) == DeleteChildJob(uid="child-uid")
    ending = child(deleting=True)
    assert decided(waiting, going, child=ending, nodes=LOST) == DeletePod(
        name="train-0-abcde", uid="pod-0", force=True
    )
    assert isinstance(decided(waiting, going, child=ending, nodes=SILENT), Wait)
    assert isinstance(decided(job_with(waiting, recovery=PATIENT), going, child=ending, nodes=LOST), Wait)


def test_a_backoff_ends_at_its_time_and_then_asks_for_a_slot():
    due = Schedule(state=ScheduleState.ALIVE_BACKOFF, next_retry_time=NOW + timedelta(seconds=7))
    job = driven(ScheduleState.ALIVE_BACKOFF, schedule=due)
    assert decided(job) == Wait(NOW + timedelta(seconds=7))
    step = decide_step(view(job), ME, NOW + timedelta(seconds=7))
    assert isinstance(step, WriteStatus)
    assert (step.status.state, step.status.reason) == (ScheduleState.ALIVE_WAITING, Reason.RECOVERING)
    assert step.status.schedule.next_retry_time is None


def test_the_next_attempt_is_the_operators_to_give():
    assert decided(driven(ScheduleState.ALIVE_WAITING)) == Wait()


@pytest.mark.parametrize("state", [ScheduleState.ALIVE_WAITING, ScheduleState.ALIVE_BACKOFF])
def test_a_deadline_between_two_attempts_ends_the_job(state: ScheduleState):
    schedule = Schedule(state=state, next_retry_time=NOW + timedelta(seconds=90))
    job = job_with(
        driven(state, first_up_time=ago(99), schedule=schedule, launch_failure_count=2),
        active_deadline=timedelta(seconds=100),
    )
    assert decided(job) == Wait(NOW + timedelta(seconds=1))
    late = job_with(job, active_deadline=timedelta(seconds=99))
    assert decided(late, pod(0), child=child()) == StopChildJob(uid="child-uid")
    step = written(late)
    assert (step.status.state, step.status.reason) == (ScheduleState.DONE, Reason.DEADLINE_EXCEEDED)


def test_the_queue_timeout_holds_until_the_job_was_up_once():
    job = job_with(LAUNCHING, queue_timeout=timedelta(seconds=1000))
    assert outcome(written(job))[2] == Reason.QUEUE_TIMEOUT
    assert isinstance(decided(job_with(ALIVE, queue_timeout=timedelta(seconds=1)), pod(0), child=child()), WriteStatus)
    once_up = replace(job, status=replace(job.status, first_up_time=ago(5)))
    assert decided(once_up) == CreateChildJob(attempt=1)


def test_success_counts_before_a_deadline_and_before_a_cancel():
    complete = child(complete=True)
    for late in (job_with(ALIVE, active_deadline=timedelta(seconds=1)), job_with(ALIVE, cancel=True)):
        assert outcome(written(late, child=complete))[1] is Phase.SUCCEEDED
