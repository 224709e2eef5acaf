"""What the operator does about a live job: one controller, a budget for its failures, an end without one."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.model import AttemptRecord, ControllerRef, CurrentAttempt, Job, JobSpec
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.actions import (
    CreateControllerPod,
    DeleteControllerPod,
    StopChildJob,
    Why,
)
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.view import ChildState
from tests.support.decided import next_look, steps, view, written
from tests.support.jobs import NOW, ago, make_job, make_pod

LIVE = sorted(state for state in ScheduleState if state.is_live)


@pytest.mark.parametrize("state", LIVE)
def test_a_live_job_with_its_controller_needs_nothing(state: ScheduleState):
    assert steps(view(make_job(state=state, fence="pod-1"), make_pod(phase=PodPhase.RUNNING))) == []


@pytest.mark.parametrize("state", LIVE)
def test_a_live_job_without_a_controller_gets_one_successor_after_a_live_read(state: ScheduleState):
    [create] = steps(view(make_job(state=state, fence="pod-1")))
    assert isinstance(create, CreateControllerPod)
    assert (create.predecessor, create.is_claim, create.read_first) == ("pod-1", False, True)


def test_a_successor_that_has_not_taken_over_yet_is_enough():
    assert steps(view(make_job(state=ScheduleState.ALIVE, fence="old"), make_pod(predecessor="old"))) == []


@pytest.mark.parametrize(
    ("pod", "force"),
    [
        (make_pod(phase=PodPhase.SUCCEEDED), False),
        (make_pod(phase=PodPhase.FAILED), False),
        (make_pod(phase=PodPhase.RUNNING, deletion_time=ago(2)), True),
    ],
    ids=["succeeded", "failed", "past its grace"],
)
def test_an_ended_controller_is_removed_before_the_next_one_is_made(pod: ControllerPod, force: bool):
    [delete] = steps(view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), pod))
    assert isinstance(delete, DeleteControllerPod)
    assert (delete.force, delete.expect_version) == (force, "100")


def test_a_controller_in_its_grace_period_is_waited_for():
    pod = make_pod(phase=PodPhase.RUNNING, deletion_time=NOW + timedelta(seconds=20))
    given = view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), pod)
    assert steps(given) == []
    assert next_look(given) == NOW + timedelta(seconds=21)


def test_a_node_that_is_not_ready_for_a_while_is_waited_for_first():
    pod = make_pod(phase=PodPhase.RUNNING)
    given = view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), pod, unready_since={"node-1": ago(10)})
    assert steps(given) == []
    assert next_look(given) == NOW + timedelta(seconds=20)


def test_a_pod_that_is_neither_the_fence_nor_its_successor_is_deleted():
    pods = (make_pod(phase=PodPhase.RUNNING), make_pod("stray", predecessor="older"))
    [delete] = steps(view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), *pods))
    assert isinstance(delete, DeleteControllerPod)
    assert delete.pod.uid == "stray"


def test_a_deletion_is_not_asked_for_twice_at_once():
    asked = make_pod(phase=PodPhase.FAILED, delete_asked=ago(1))
    assert steps(view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), asked)) == []


def test_a_successor_that_does_not_take_over_in_time_is_deleted():
    late = make_pod("late", predecessor="pod-1", age=125)
    [delete] = steps(view(make_job(state=ScheduleState.ALIVE, fence="pod-1"), late))
    assert isinstance(delete, DeleteControllerPod)


def test_an_own_failure_is_counted_once():
    job = make_job(state=ScheduleState.ALIVE, fence="pod-1")
    pod = make_pod(phase=PodPhase.RUNNING, failed_at=ago(5))
    write = written(view(job, pod))
    assert write.status.controller == ControllerRef(pod_uid="pod-1", failures=1, last_failure_time=ago(5))
    assert steps(view(replace(job, status=write.status), pod)) == []


def test_failures_far_apart_do_not_add_up():
    before = ControllerRef(pod_uid="pod-1", failures=5, last_failure_time=ago(3700))
    job = make_job(state=ScheduleState.ALIVE, controller=before)
    write = written(view(job, make_pod(phase=PodPhase.RUNNING, failed_at=ago(5))))
    assert write.status.controller is not None
    assert write.status.controller.failures == 1


def failing_job() -> Job:
    return make_job(
        state=ScheduleState.ALIVE,
        controller=ControllerRef(pod_uid="pod-1", failures=5, last_failure_time=ago(60)),
        current_attempt=CurrentAttempt(number=1),
        attempts=(AttemptRecord(number=1, start_time=ago(500)),),
    )


def test_a_controller_that_fails_too_often_is_shut_out_then_the_child_job_stopped_then_the_job_failed():
    job, pod = failing_job(), make_pod(phase=PodPhase.RUNNING, failed_at=ago(1))
    write = written(view(job, pod))
    assert (write.why, write.status.fence, write.status.state) == (Why.TAKE_OVER, "operator/7", ScheduleState.ALIVE)
    taken = replace(job, status=write.status)
    delete, stop = steps(view(taken, pod))
    assert isinstance(delete, DeleteControllerPod)
    assert isinstance(stop, StopChildJob)
    assert [type(a) for a in steps(view(taken, child=ChildState.STOPPING))] == [StopChildJob]
    end = written(view(taken, child=ChildState.STOPPED))
    assert (end.status.phase, end.status.reason) == (Phase.FAILED, "ControllerFailed")
    assert end.status.attempts[0].ending == "ControllerFailed"
    assert end.status.attempts[0].end_time == NOW


def test_a_cancelled_job_without_a_controller_is_ended_by_the_operator_after_thirty_seconds():
    job = make_job(state=ScheduleState.ALIVE, fence="pod-1", spec=JobSpec(cancel=True))
    waiting = view(job, make_pod("next", predecessor="pod-1"), uncontrolled_since=ago(29))
    assert steps(waiting) == []
    write = written(replace(waiting, uncontrolled_since=ago(30)))
    assert (write.why, write.status.phase, write.status.fence) == (Why.TAKE_OVER, Phase.CANCELLING, "operator/7")
    taken = replace(job, status=write.status)
    end = written(view(taken, child=ChildState.STOPPED))
    assert (end.status.phase, end.status.reason) == (Phase.CANCELLED, "Cancelled")


def test_a_later_leader_goes_on_with_what_an_earlier_one_took_over():
    job = make_job(state=ScheduleState.ALIVE, fence="operator/3", phase=Phase.CANCELLING, reason="Cancelling")
    assert [type(a) for a in steps(view(job))] == [StopChildJob]


# --- pods of jobs that need none
