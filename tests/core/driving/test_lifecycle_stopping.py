"""Cancel and suspend, in every live state: said, stopped, waited for, written."""

from dataclasses import replace

import pytest

from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import DeleteChildJob, DeletePod, Look, StopChildJob, Wait, WriteStatus
from managedjobs.core.driving.view import Node
from managedjobs.core.endings import Ending
from managedjobs.core.model import Job, JobSpec, Schedule
from managedjobs.core.phases import LIVE_STATES, Phase, ScheduleState
from managedjobs.core.reasons import Reason
from tests.support.driven import ME, NOW, ago, child, driven, failed_pod, pod, view

ENDED = {ScheduleState.ALIVE_BACKOFF, ScheduleState.ALIVE_WAITING}
HOW = pytest.mark.parametrize(
    ("spec", "intent", "end", "after", "ending"),
    [
        pytest.param(
            JobSpec(cancel=True), Phase.CANCELLING, Phase.CANCELLED, ScheduleState.DONE, Ending.CANCELLED, id="cancel"
        ),
        pytest.param(
            JobSpec(suspend=True),
            Phase.SUSPENDING,
            Phase.SUSPENDED,
            ScheduleState.SUSPENDED,
            Ending.SUSPENDED,
            id="suspend",
        ),
        pytest.param(
            JobSpec(cancel=True, suspend=True),
            Phase.CANCELLING,
            Phase.CANCELLED,
            ScheduleState.DONE,
            Ending.CANCELLED,
            id="cancel and suspend",
        ),
    ],
)


def ended(job: Job) -> Job:
    if job.status.state not in ENDED:
        return job
    record = replace(job.status.attempts[-1], ending=Ending.PREEMPTED, end_time=ago(5))
    return replace(job, status=replace(job.status, attempts=(record,)))


@HOW
@pytest.mark.parametrize("state", sorted(LIVE_STATES))
def test_a_job_is_stopped_in_this_order(
    state: ScheduleState, spec: JobSpec, intent: Phase, end: Phase, after: ScheduleState, ending: Ending
):
    job = ended(driven(state, spec=spec))
    first = decide_step(view(job, pod(0), child=child()), ME, NOW)
    assert isinstance(first, WriteStatus)
    assert (first.status.phase, first.status.state) == (intent, state)
    job = replace(job, status=first.status)
    goes = intent is Phase.SUSPENDING  # a suspended child Job could be resumed by hand when no controller is there
    want = DeleteChildJob(uid="child-uid") if goes else StopChildJob(uid="child-uid")
    assert decide_step(view(job, pod(0), child=child()), ME, NOW) == want
    stopped = child(deleting=True) if goes else child(suspended=True)
    assert isinstance(decide_step(view(job, pod(0), child=stopped), ME, NOW), Wait)
    assert decide_step(view(job, failed_pod(0), child=stopped, fresh=False), ME, NOW) == Look()
    last = decide_step(view(job, failed_pod(0), child=stopped), ME, NOW)
    assert isinstance(last, WriteStatus)
    assert (last.status.phase, last.status.state) == (end, after)
    assert last.status.attempts[-1].ending == (Ending.PREEMPTED if state in ENDED else ending)


@HOW
@pytest.mark.parametrize("state", sorted(LIVE_STATES))
def test_a_job_without_pods_is_stopped_with_one_write(
    state: ScheduleState, spec: JobSpec, intent: Phase, end: Phase, after: ScheduleState, ending: Ending
):
    job = driven(state, spec=spec, schedule=Schedule(state=state, next_retry_time=NOW, position=3))
    assert decide_step(view(job, fresh=False), ME, NOW) == Look()
    step = decide_step(view(job), ME, NOW)
    assert isinstance(step, WriteStatus)
    assert (step.status.phase, step.status.state, step.status.attempts[-1].ending) == (end, after, ending)
    assert intent is not step.status.phase
    assert (step.status.schedule.position, step.status.schedule.next_retry_time) == (None, None)


def test_a_cancel_overtakes_a_suspension_and_a_suspension_that_has_begun_is_carried_through():
    suspending = driven(phase=Phase.SUSPENDING)
    assert decide_step(view(suspending, pod(0), child=child()), ME, NOW) == StopChildJob(uid="child-uid")
    cancelled = replace(suspending, spec=JobSpec(cancel=True))
    step = decide_step(view(cancelled, pod(0), child=child(suspended=True)), ME, NOW)
    assert isinstance(step, WriteStatus)
    assert step.status.phase is Phase.CANCELLING


def test_a_program_that_ends_well_on_its_termination_signal_was_cancelled_all_the_same():
    job = driven(phase=Phase.CANCELLING, spec=JobSpec(cancel=True))
    step = decide_step(view(job, child=child(suspended=True, complete=True, over=True)), ME, NOW)
    assert isinstance(step, WriteStatus)
    assert step.status.phase is Phase.CANCELLED


def test_a_failure_that_is_written_is_not_made_a_cancel_by_a_later_wish():
    record = replace(driven().status.attempts[-1], ending=Ending.PROGRAM_FAILED, end_time=ago(1))
    job = driven(spec=JobSpec(cancel=True), attempts=(record,), reason=Reason.PROGRAM_FAILED.value, exit_code=3)
    step = decide_step(view(job, child=child(suspended=True)), ME, NOW)
    assert isinstance(step, WriteStatus)
    assert (step.status.phase, step.status.reason, step.status.exit_code) == (Phase.FAILED, "ProgramFailed", 3)


def test_a_pod_on_a_lost_node_does_not_hold_a_cancel_up_for_ever():
    job = driven(phase=Phase.CANCELLING, spec=JobSpec(cancel=True))
    going = pod(0, deletion_asked_at=ago(99), deletion_due_at=ago(69))
    lost = {"node-0": Node(name="node-0", unreachable_since=ago(61))}
    step = decide_step(view(job, going, child=child(suspended=True), nodes=lost), ME, NOW)
    assert step == DeletePod(name="train-0-abcde", uid="pod-0", force=True)


@pytest.mark.parametrize("held", [False, True], ids=["running", "suspended by its queue"])
def test_a_child_job_that_a_queue_would_resume_is_deleted_once_its_ending_is_written(held: bool):
    job = driven(spec=JobSpec(cancel=True))
    own = child(queued=True, suspended=held)
    first = decide_step(view(job, pod(0), child=own), ME, NOW)
    assert isinstance(first, WriteStatus)
    assert (first.status.phase, first.status.attempts[-1].ending) == (Phase.CANCELLING, Ending.CANCELLED)
    job = replace(job, status=first.status)
    assert decide_step(view(job, pod(0), child=own), ME, NOW) == DeleteChildJob(uid="child-uid")
    last = decide_step(view(job), ME, NOW)
    assert isinstance(last, WriteStatus)
    assert last.status.phase is Phase.CANCELLED
