"""Who may drive a job: takeovers, restarts in place, controllers that are shut out, jobs that are gone."""

from dataclasses import replace

import pytest

from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import DeleteChildJob, Exit, Look, Step, Wait, WriteStatus
from managedjobs.core.driving.view import Me
from managedjobs.core.endings import Ending
from managedjobs.core.model import AttemptRecord, Condition, ControllerRef, CurrentAttempt, Job, JobSpec, Schedule
from managedjobs.core.phases import LIVE_STATES, Phase, ScheduleState
from tests.support.driven import ME, NOW, ago, child, driven, pod, view

FIRST = replace(ME, predecessor="")


def decided(job: Job | None, me: Me = ME, **seen: object) -> Step:
    return decide_step(view(job, **seen), me, NOW)  # type: ignore[arg-type] # the fields are the test's to get right


def waiting(**fields: object) -> Job:
    return driven(ScheduleState.WAITING, fence="", phase=Phase.PENDING, **fields)  # type: ignore[arg-type] # as above


def test_the_first_takeover_opens_attempt_1_and_gives_the_job_its_writer():
    step = decided(waiting(), FIRST)
    assert isinstance(step, WriteStatus)
    status = step.status
    assert status.fence == "me"
    assert (status.phase, status.state, status.attempt_count) == (Phase.LAUNCHING, ScheduleState.LAUNCHING, 1)
    assert status.current_attempt == CurrentAttempt(number=1, job_name="train", start_time=NOW, pods_wanted=1)
    assert status.attempts == (AttemptRecord(number=1, start_time=NOW, job_name="train"),)
    assert status.controller == ControllerRef(
        pod_uid="me", pod_name="train-me", node_name="node-c", version="9", failures=0
    )


def test_a_resumed_job_gets_its_next_attempt_and_its_deadline_is_moved_by_the_suspension():
    ended = AttemptRecord(number=1, ending=Ending.SUSPENDED, start_time=ago(900), end_time=ago(400))
    job = driven(
        ScheduleState.WAITING,
        fence="before",
        phase=Phase.PENDING,
        attempt_count=1,
        attempts=(ended,),
        first_up_time=ago(800),
        conditions=(Condition(type="Admitted", status="False", reason="Suspended", last_transition_time=ago(400)),),
    )
    step = decided(job)
    assert isinstance(step, WriteStatus)
    assert step.status.attempt_count == 2
    assert step.status.first_up_time == ago(400)


@pytest.mark.parametrize("spec", [JobSpec(cancel=True), JobSpec(suspend=True)], ids=["cancel", "suspend"])
def test_a_waiting_job_that_is_to_stop_is_left_to_the_operator(spec: JobSpec):
    assert decided(waiting(spec=spec), FIRST) == Wait()


@pytest.mark.parametrize("state", sorted(LIVE_STATES))
def test_a_successor_of_a_live_job_changes_only_the_writer(state: ScheduleState):
    job = driven(state, fence="before", attempt=2)
    kept = ControllerRef(pod_uid="before", failures=2, last_failure_time=ago(50))
    job = replace(job, status=replace(job.status, controller=kept))
    step = decided(job)
    assert isinstance(step, WriteStatus)
    assert replace(step.status, controller=None) == replace(job.status, controller=None)
    assert step.status.controller == replace(kept, pod_uid="me", pod_name="train-me", node_name="node-c", version="9")
    assert step.note is None


@pytest.mark.parametrize("state", sorted(LIVE_STATES | {ScheduleState.WAITING}))
@pytest.mark.parametrize("fence", ["someone", "operator/3", "revoked:me", ""])
def test_whoever_neither_has_the_fence_nor_takes_it_over_writes_nothing_and_leaves(state: ScheduleState, fence: str):
    assert isinstance(decided(driven(state, fence=fence), child=child()), Exit)


@pytest.mark.parametrize("fence", ["me", "before", "someone"])
def test_a_job_that_was_suspended_or_queued_again_is_not_ours_any_more(fence: str):
    assert isinstance(decided(driven(ScheduleState.SUSPENDED, fence=fence, phase=Phase.SUSPENDED)), Exit)
    if fence == "me":
        assert isinstance(decided(driven(ScheduleState.WAITING, fence=fence)), Exit)


@pytest.mark.parametrize("fence", ["me", "before", "someone"])
def test_a_finished_job_is_never_written_again(fence: str):
    job = driven(ScheduleState.DONE, fence=fence, phase=Phase.SUCCEEDED, spec=JobSpec(cancel=True))
    assert isinstance(decided(job, child=child()), Exit)


def test_the_last_child_job_goes_where_they_are_not_kept():
    done = driven(ScheduleState.DONE, phase=Phase.SUCCEEDED)
    tidy = replace(ME, keep_jobs=False)
    assert decided(done, tidy, child=child()) == DeleteChildJob(uid="child-uid")
    assert isinstance(decided(done, tidy, child=child(deleting=True)), Exit)
    assert isinstance(decided(done, tidy, child=child(owner_uid="x", job_uid="x")), Exit)


@pytest.mark.parametrize(
    "job",
    [pytest.param(None, id="gone"), pytest.param(replace(driven(), uid="another"), id="another object has its name")],
)
def test_a_job_that_is_gone_takes_its_child_job_along_once_that_is_proven(job: Job | None):
    orphan = child(owner_uid=None)
    assert decided(job, child=orphan, fresh=False) == Look()
    assert decided(job, child=orphan) == DeleteChildJob(uid="child-uid")
    assert isinstance(decided(job, child=replace(orphan, deleting=True)), Exit)
    assert isinstance(decided(job, child=child(owner_uid="x", job_uid="x")), Exit)
    assert isinstance(decided(job), Exit)


def test_nobody_elses_child_job_is_taken_for_ours_when_no_job_was_ever_seen():
    foreign = child(owner_uid=None, job_uid="")
    assert isinstance(decided(None, replace(ME, job_uid=""), child=foreign), Exit)


def test_a_job_that_is_being_deleted_begins_nothing_new():
    job = replace(driven(), deleting=True)
    assert decided(job, child=child()) == DeleteChildJob(uid="child-uid")
    assert decided(job) == Wait()


def test_a_pod_alone_is_no_reason_to_think_that_a_job_is_ours():
    assert isinstance(decide_step(view(driven(fence="x"), pod(0)), ME, NOW), Exit)


def test_a_status_without_a_schedule_is_that_of_a_waiting_job():
    job = replace(waiting(), status=replace(waiting().status, schedule=Schedule()))
    assert isinstance(decided(job, FIRST), WriteStatus)
