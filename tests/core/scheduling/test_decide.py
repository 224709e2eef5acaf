"""What the operator leaves alone, and what it sweeps."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.model import JobSpec
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.actions import (
    DeleteControllerPod,
    DeleteJob,
)
from managedjobs.core.scheduling.decide import decide
from managedjobs.core.scheduling.usage import standing
from managedjobs.core.scheduling.view import ExpectedPod
from tests.support.decided import next_look, steps, view
from tests.support.jobs import NOW, TERM, ago, make_job, make_pod


@pytest.mark.parametrize("state", ScheduleState)
def test_a_job_managed_by_another_is_left_alone(state: ScheduleState):
    phase = Phase.CANCELLED if state is ScheduleState.DONE else Phase.PENDING
    job = make_job(state=state, phase=phase, spec=JobSpec(managed_by="example.com/other", cancel=True))
    assert decide(view(job), TERM, NOW) == []
    stands = standing(view(job))
    assert stands is not None
    assert stands.want is None


@pytest.mark.parametrize("state", [s for s in ScheduleState if s is not ScheduleState.DONE])
def test_nothing_is_decided_while_a_pod_was_asked_for_and_not_seen(state: ScheduleState):
    given = view(make_job(state=state, fence="old"), expected=ExpectedPod(name="p", predecessor="old"))
    assert decide(given, TERM, NOW) == []


# --- waiting


def test_the_ended_pod_of_a_finished_job_is_deleted_at_once_and_needs_no_read():
    job = make_job(state=ScheduleState.DONE, fence="pod-1", completion_time=ago(1))
    [delete] = steps(view(job, make_pod(phase=PodPhase.SUCCEEDED)))
    assert isinstance(delete, DeleteControllerPod)
    assert delete.expect_version is None


def test_the_running_pod_of_a_finished_job_has_thirty_seconds_to_exit():
    job = make_job(state=ScheduleState.DONE, fence="pod-1", completion_time=ago(1))
    running = make_pod(phase=PodPhase.RUNNING)
    assert steps(view(job, running)) == []
    assert [type(a) for a in steps(view(job, running), NOW + timedelta(seconds=30))] == [DeleteControllerPod]


def test_the_pods_of_a_finished_job_hold_their_run_slot_until_they_are_gone():
    job = make_job(state=ScheduleState.DONE, fence="pod-1")
    held = standing(view(job, make_pod()))
    assert held is not None
    assert (held.launch, held.run) == (False, True)


def test_the_pod_of_a_deleted_job_is_swept_after_a_read_that_finds_no_job():
    gone = view(None, make_pod(phase=PodPhase.SUCCEEDED), absent_since=ago(1))
    [delete] = steps(gone)
    assert isinstance(delete, DeleteControllerPod)
    assert delete.expect_version == ""
    held = standing(gone)
    assert held is not None
    assert (held.run, held.pool) == (True, "default")


def test_a_finished_job_is_deleted_when_its_time_is_over():
    job = make_job(
        state=ScheduleState.DONE, completion_time=ago(100), spec=JobSpec(ttl_after_finished=timedelta(seconds=90))
    )
    [delete] = steps(view(job))
    assert isinstance(delete, DeleteJob)
    early = replace(job, spec=JobSpec(ttl_after_finished=timedelta(seconds=120)))
    assert steps(view(early)) == []
    assert next_look(view(early)) == NOW + timedelta(seconds=21)


# --- what they hold and want
