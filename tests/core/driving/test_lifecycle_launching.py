"""Launching and parked: coming up, or not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.driving.steps import (
    DeleteChildJob,
    Look,
    StopChildJob,
    Wait,
)
from managedjobs.core.driving.view import Container, Pod, Refusal, RefusalKind
from managedjobs.core.endings import Ending
from managedjobs.core.model import Job
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.reasons import Reason
from tests.support.driven import NOW, ago, child, driven, failed_pod, pending_pod, pod
from tests.support.driving import decided, job_with, outcome, written

LAUNCHING = driven(ScheduleState.LAUNCHING, started=10)
PARKED = driven(ScheduleState.PARKED, started=10)
ALIVE = driven()


def test_an_attempt_that_is_up_is_running():
    step = written(LAUNCHING, pod(0), child=child())
    assert (step.status.state, step.status.phase, step.status.reason) == (
        ScheduleState.ALIVE,
        Phase.RUNNING,
        Reason.RUNNING,
    )
    current = step.status.current_attempt
    assert current is not None
    assert (current.up_time, current.job_uid, current.pods_ready) == (NOW, "child-uid", 1)
    assert step.status.first_up_time == NOW
    assert step.status.attempts[-1].node_name == "node-0"


def test_a_launch_says_nothing_in_its_first_seconds_and_then_no_more_often_than_the_budget_allows():
    blocked = pending_pod(scheduling_reason="Unschedulable", scheduling_message="no nodes available", age=3)
    young = driven(ScheduleState.LAUNCHING, started=3)
    assert decided(young, blocked, child=child(age=3)) == Wait(ago(3) + timedelta(seconds=5))
    assert decided(LAUNCHING, blocked, child=child(age=3), texts_after=NOW + timedelta(seconds=1)) == Wait(
        NOW + timedelta(seconds=1)
    )
    step = written(LAUNCHING, blocked, child=child(age=3))
    assert step.text_only
    assert step.status.description == ("Launching attempt 1: 0 of 1 pod running; 1 unschedulable: no nodes available.")
    assert decided(replace(LAUNCHING, status=step.status), blocked, child=child(age=3)) == Wait(
        ago(3) + timedelta(seconds=30)
    )


@pytest.mark.parametrize("job", [LAUNCHING, PARKED], ids=["launching", "parked"])
def test_an_image_name_that_can_not_be_fails_the_job_after_its_pods_are_stopped(job: Job):
    wrong = pod(0, phase=PodPhase.PENDING, containers=(Container(name="main", waiting_reason="InvalidImageName"),))
    intent = written(job, wrong, child=child())
    assert outcome(intent)[1:] == (job.status.phase, Reason.INVALID_IMAGE_NAME, Ending.INVALID_IMAGE_NAME)
    failing = replace(job, status=intent.status)
    assert decided(failing, wrong, child=child()) == StopChildJob(uid="child-uid")
    assert isinstance(decided(failing, wrong, child=child(suspended=True)), Wait)
    assert decided(failing, child=child(suspended=True), fresh=False) == Look()
    done = written(failing, child=child(suspended=True))
    assert outcome(done) == (ScheduleState.DONE, Phase.FAILED, Reason.INVALID_IMAGE_NAME, Ending.INVALID_IMAGE_NAME)
    text = "the image of container main is not a valid name:."
    assert intent.status.description == f"Failing, its pods are ending: {text}"
    assert done.status.description == f"Failed: {text}"


def test_pods_that_a_policy_forbids_fail_the_job():
    refusal = Refusal(kind=RefusalKind.NOT_ALLOWED, message="violates PodSecurity", attempt=1)
    assert outcome(written(LAUNCHING, child=child(), refusal=refusal))[2:] == (Reason.NOT_ALLOWED, Ending.NOT_ALLOWED)


def test_a_launch_that_waits_only_for_others_is_parked_and_keeps_its_child_job():
    job = driven(ScheduleState.LAUNCHING, started=40)
    blocked = pending_pod(scheduling_reason="Unschedulable", scheduling_message="no room", age=31)
    step = written(job, blocked, child=child(age=35))
    assert outcome(step) == (ScheduleState.PARKED, Phase.LAUNCHING, Reason.PARKED, None)
    assert step.status.description.endswith("Parked: it holds no launch slot while it waits.")


def test_a_launch_with_a_pod_still_to_be_created_is_not_parked():
    job = driven(ScheduleState.LAUNCHING, started=400)
    blocked = pending_pod(0, scheduling_reason="Unschedulable", age=300)
    step = written(job_with(job, replicas=2), blocked, child=child(age=300))
    assert step.status.state is ScheduleState.LAUNCHING


def test_pods_that_the_api_server_finds_invalid_fail_the_job():
    refusal = Refusal(kind=RefusalKind.INVALID, message='Pod "train-0" is invalid: spec', attempt=1)
    intent = written(LAUNCHING, child=child(), refusal=refusal)
    assert outcome(intent)[2:] == (Reason.INVALID_TEMPLATE, Ending.INVALID_TEMPLATE)


def test_a_child_job_that_a_queue_suspends_is_parked_once_the_suspension_is_meant():
    held = child(suspended=True, suspended_at=ago(1), age=1)
    assert decided(LAUNCHING, child=held) == Wait(NOW + timedelta(seconds=1))
    step = written(LAUNCHING, child=replace(held, suspended_at=ago(2)))
    assert (step.status.state, step.status.phase) == (ScheduleState.PARKED, Phase.LAUNCHING)
    parked = replace(LAUNCHING, status=step.status)
    assert decided(parked, child=held) == Wait()
    up = written(parked, pod(0, age=1), child=child(resumed_at=ago(2)))
    assert up.status.state is ScheduleState.ALIVE


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        pytest.param(driven(ScheduleState.LAUNCHING, started=1800), [pending_pod(0, age=9)], id="launching for long"),
        pytest.param(driven(ScheduleState.PARKED, started=9999), [pod(0, age=1800, phase=PodPhase.PENDING,
            containers=(Container(name="main", waiting_reason="ImagePullBackOff"),))], id="parked on a node for long"),
        pytest.param(driven(ScheduleState.LAUNCHING, started=1800), [], id="nothing was ever created"),
    ],
)  # fmt: skip
def test_an_attempt_that_is_not_up_in_time_is_taken_down_and_tried_again_later(job: Job, pods: list[Pod]):
    own = child() if pods else None
    step = written(job, *pods, child=own)
    assert outcome(step) == (ScheduleState.ALIVE_BACKOFF, Phase.RECOVERING, Reason.BACKOFF, Ending.NOT_STARTED)
    assert step.status.launch_failure_count == 1
    if own:
        assert decided(replace(job, status=step.status), child=own) == DeleteChildJob(uid="child-uid")


def test_a_parked_job_that_holds_no_node_waits_for_ever():
    parked = driven(ScheduleState.PARKED, started=99_999, reason=Reason.PARKED.value)
    blocked = pending_pod(scheduling_reason="Unschedulable", scheduling_message="no room", age=90_000)
    step = written(parked, blocked, child=child(age=90_000))
    assert step.text_only
    assert decided(replace(parked, status=step.status), blocked, child=child(age=90_000)) == Wait()


@pytest.mark.parametrize("job", [LAUNCHING, PARKED, ALIVE], ids=["launching", "parked", "alive"])
def test_a_child_job_that_somebody_deletes_is_an_ending_once_it_is_proven(job: Job):
    for gone in (child(deleting=True), None) if job is ALIVE else (child(deleting=True),):
        assert decided(job, child=gone, fresh=False) == Look()
        assert outcome(written(job, child=gone))[3] == Ending.CHILD_JOB_DELETED


def test_a_parked_job_whose_child_job_is_gone_needs_a_launch_slot_again():
    assert decided(PARKED, fresh=False) == Look()
    assert outcome(written(PARKED))[3] == Ending.CHILD_JOB_DELETED


def test_a_child_job_that_failed_is_not_parked_though_it_is_suspended():
    step = written(PARKED, failed_pod(0, 3), child=child(suspended=True, failed=True))
    assert outcome(step)[1:] == (Phase.FAILED, Reason.PROGRAM_FAILED, Ending.PROGRAM_FAILED)
