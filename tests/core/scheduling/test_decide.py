"""What the operator does about one job, by the state it is in."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from managedjobs.core.model import AttemptRecord, ControllerRef, CurrentAttempt, Job, JobSpec
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.scheduling.actions import (
    Action,
    CheckAgainAt,
    CreateControllerPod,
    DeleteControllerPod,
    DeleteJob,
    StopChildJob,
    Why,
    WriteStatus,
)
from managedjobs.core.scheduling.controller_pod import ControllerPod, PodPhase
from managedjobs.core.scheduling.decide import decide
from managedjobs.core.scheduling.usage import Want, standing
from managedjobs.core.scheduling.view import ChildState, ExpectedPod, OperatorView, VanishedPod
from tests.support.jobs import NOW, TERM, ago, make_job, make_pod

LIVE = sorted(state for state in ScheduleState if state.is_live)


def view(job: Job | None, *pods: ControllerPod, **more: object) -> OperatorView:
    given = OperatorView(uid="job-1", key=make_job().key, job=job, pods=pods)
    return replace(given, **more)  # type: ignore[arg-type]  # any field of OperatorView


def steps(given: OperatorView, now: datetime = NOW) -> list[Action]:
    """The effects, without the moments to look again."""
    return [action for action in decide(given, TERM, now) if not isinstance(action, CheckAgainAt)]


def written(given: OperatorView, now: datetime = NOW) -> WriteStatus:
    [write] = steps(given, now)
    assert isinstance(write, WriteStatus)
    return write


def next_look(given: OperatorView) -> datetime:
    return min(action.moment for action in decide(given, TERM, NOW) if isinstance(action, CheckAgainAt))


# --- whose job it is


@pytest.mark.parametrize("state", ScheduleState)
def test_a_job_managed_by_another_is_left_alone(state: ScheduleState):
    phase = Phase.CANCELLED if state is ScheduleState.DONE else Phase.PENDING
    job = make_job(state=state, phase=phase, spec=JobSpec(managed_by="example.com/other", cancel=True))
    assert decide(view(job), TERM, NOW) == []
    assert standing(view(job)).want is None  # type: ignore[union-attr]


@pytest.mark.parametrize("state", [s for s in ScheduleState if s is not ScheduleState.DONE])
def test_nothing_is_decided_while_a_pod_was_asked_for_and_not_seen(state: ScheduleState):
    given = view(make_job(state=state, fence="old"), expected=ExpectedPod(name="p", predecessor="old"))
    assert decide(given, TERM, NOW) == []


# --- waiting


def test_a_cancelled_waiting_job_is_done_and_shuts_out_its_claim():
    write = written(view(make_job(spec=JobSpec(cancel=True)), make_pod()))
    assert (write.status.phase, write.status.state) == (Phase.CANCELLED, ScheduleState.DONE)
    assert write.status.fence == f"operator/{TERM}"
    assert write.status.completion_time == NOW
    assert {c.type: c.status for c in write.status.conditions}["Succeeded"] == "False"


def test_a_job_with_an_unsupported_field_fails_and_names_it():
    write = written(view(make_job(spec=JobSpec(unsupported=("spec.tasks", "spec.runtimeEnv")))))
    assert (write.status.phase, write.status.reason) == (Phase.FAILED, "NotSupported")
    assert "spec.tasks and spec.runtimeEnv" in write.status.description


def test_a_job_that_waited_too_long_fails_and_says_after_how_long():
    job = make_job(age=100, spec=JobSpec(queue_timeout=timedelta(seconds=90)))
    write = written(view(job))
    assert (write.status.phase, write.status.reason) == (Phase.FAILED, "QueueTimeout")
    assert "90 s" in write.status.description


def test_a_job_is_looked_at_again_when_its_queue_timeout_is_due():
    job = make_job(age=10, spec=JobSpec(queue_timeout=timedelta(seconds=90)))
    assert next_look(view(job)) == NOW + timedelta(seconds=81)


def test_the_queue_timeout_is_over_for_a_job_that_was_up():
    job = make_job(age=100, first_up_time=ago(50), spec=JobSpec(queue_timeout=timedelta(seconds=90)))
    assert steps(view(job)) == []


def test_a_suspended_waiting_job_shuts_out_its_claim():
    write = written(view(make_job(spec=JobSpec(suspend=True)), make_pod("p9")))
    assert (write.status.phase, write.status.state) == (Phase.SUSPENDED, ScheduleState.SUSPENDED)
    assert write.status.fence == "revoked:p9"


def test_an_unclaimed_waiting_job_that_is_suspended_has_no_controller_to_shut_out():
    assert written(view(make_job(spec=JobSpec(suspend=True)))).status.controller is None


CLAIM_FAILURES = [
    ("succeeded", make_pod(phase=PodPhase.SUCCEEDED), "ended before it started the job"),
    ("failed", make_pod(phase=PodPhase.FAILED), "ended before it started the job"),
    ("deleted", make_pod(deletion_time=NOW + timedelta(seconds=20)), "was deleted before"),
    ("past its grace", make_pod(deletion_time=ago(3)), "was deleted before"),
    ("late", make_pod(age=121, waiting="ErrImagePull: not found"), "did not start within 120 s (ErrImagePull"),
]


@pytest.mark.parametrize(("pod", "text"), [c[1:] for c in CLAIM_FAILURES], ids=[c[0] for c in CLAIM_FAILURES])
def test_a_claim_that_comes_to_nothing_is_revoked_before_its_pod_is_deleted(pod: ControllerPod, text: str):
    write = written(view(make_job(), pod))
    assert (write.why, write.status.fence, write.status.state) == (Why.REVOKE, "revoked:pod-1", ScheduleState.WAITING)
    assert text in write.status.description
    after = replace(make_job(), status=write.status)
    deletes = steps(view(after, pod))
    if pod.deletion_time is not None and pod.deletion_time > NOW:
        assert deletes == []  # it is on its way
    else:
        assert [type(a) for a in deletes] == [DeleteControllerPod]
        assert deletes[0].expect_version == "100"  # type: ignore[union-attr]


def test_a_revoked_claim_keeps_its_run_slot_until_its_pod_is_gone_and_then_can_be_claimed_again():
    job = make_job(fence="revoked:pod-1")
    held = standing(view(job, make_pod()))
    assert held is not None
    assert (held.launch, held.run, held.want) == (False, True, None)
    free = standing(view(job))
    assert free is not None
    assert (free.launch, free.run, free.want) == (False, False, Want.CLAIM)


def test_a_claim_whose_pod_disappeared_keeps_both_slots_until_it_is_revoked():
    given = view(make_job(), vanished=(VanishedPod(uid="p9", predecessor=""),))
    held = standing(given)
    assert held is not None
    assert (held.launch, held.run, held.want) == (True, True, None)
    assert written(given).status.fence == "revoked:p9"


def test_a_claim_pod_on_a_lost_node_is_revoked_and_then_removed_by_force():
    pod = make_pod()
    lost = {"node-1": ago(31)}
    write = written(view(make_job(), pod, unready_since=lost))
    assert "lost with node node-1" in write.status.description
    [delete] = steps(view(replace(make_job(), status=write.status), pod, unready_since=lost))
    assert isinstance(delete, DeleteControllerPod)
    assert delete.force


def test_an_unschedulable_claim_waits_for_ever_and_says_why():
    job = make_job()
    write = written(view(job, make_pod(age=4000, scheduled=False, node_name=None, unschedulable="0/3 nodes fit.")))
    assert write.why is Why.TEXT
    assert write.status.reason == "Starting"
    assert write.status.description == "Starting: the controller pod is unschedulable: 0/3 nodes fit."


def test_a_claim_says_nothing_in_its_first_two_seconds_and_says_it_once():
    assert steps(view(make_job(), make_pod(age=1))) == []
    pod = make_pod(age=5, waiting="ImagePullBackOff: no such image")
    write = written(view(make_job(), pod))
    assert write.status.description == (
        "Starting: the controller pod is not up on node node-1: ImagePullBackOff: no such image."
    )
    assert steps(view(replace(make_job(), status=write.status), pod)) == []


def test_a_controller_that_fails_before_its_takeover_again_and_again_ends_the_job():
    status = {"controller": ControllerRef(pod_uid="revoked:p5", failures=5, last_failure_time=ago(100))}
    pod = make_pod(predecessor="revoked:p5", phase=PodPhase.FAILED, failed_at=ago(1))
    write = written(view(make_job(**status), pod))
    assert (write.status.phase, write.status.reason) == (Phase.FAILED, "ControllerFailed")


# --- suspended


def test_a_resumed_job_queues_anew_once_nothing_of_it_runs():
    job = make_job(state=ScheduleState.SUSPENDED, fence="pod-1", age=900)
    exiting = make_pod("pod-1", phase=PodPhase.RUNNING)
    assert steps(view(job, exiting), NOW) == []
    write = written(view(job))
    assert (write.why, write.status.state, write.status.schedule.queue_time) == (
        Why.RESUME,
        ScheduleState.WAITING,
        NOW,
    )
    assert write.status.fence == "pod-1"


def test_a_suspended_job_can_be_cancelled():
    job = make_job(state=ScheduleState.SUSPENDED, fence="pod-1", spec=JobSpec(suspend=True, cancel=True))
    assert written(view(job)).status.phase is Phase.CANCELLED


# --- live


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


@pytest.mark.parametrize(
    ("state", "launch", "run"),
    [
        (ScheduleState.WAITING, False, False),
        (ScheduleState.LAUNCHING, True, True),
        (ScheduleState.PARKED, False, True),
        (ScheduleState.ALIVE, False, True),
        (ScheduleState.ALIVE_WAITING, False, True),
        (ScheduleState.ALIVE_BACKOFF, False, True),
        (ScheduleState.SUSPENDED, False, False),
        (ScheduleState.DONE, False, False),
    ],
)
def test_the_slots_of_each_state(state: ScheduleState, launch: bool, run: bool):
    held = standing(view(make_job(state=state, fence="x")))
    assert held is not None
    assert (held.launch, held.run) == (launch, run)


@pytest.mark.parametrize("phase", PodPhase)
def test_a_claim_holds_both_slots_whatever_the_phase_of_its_pod(phase: PodPhase):
    held = standing(view(make_job(), make_pod(phase=phase)))
    assert held is not None
    assert (held.launch, held.run) == (True, True)


def test_a_claim_that_was_asked_for_holds_both_slots_before_anything_shows_it():
    held = standing(view(make_job(), expected=ExpectedPod(name="p", predecessor="")))
    assert held is not None
    assert (held.launch, held.run, held.want) == (True, True, None)


@pytest.mark.parametrize(
    ("pod", "wants"),
    [
        (make_pod(phase=PodPhase.RUNNING), True),
        (make_pod(phase=PodPhase.PENDING), False),
        (make_pod(phase=PodPhase.RUNNING, deletion_time=NOW), False),
        (make_pod("other", predecessor="pod-1", phase=PodPhase.RUNNING), False),
    ],
    ids=["running", "pending", "deleted", "successor"],
)
def test_a_launch_slot_is_granted_only_to_a_job_whose_controller_runs(pod: ControllerPod, wants: bool):
    held = standing(view(make_job(state=ScheduleState.ALIVE_WAITING, fence="pod-1"), pod))
    assert held is not None
    assert (held.want is Want.GRANT) is wants
