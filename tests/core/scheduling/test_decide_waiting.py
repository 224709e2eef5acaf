"""What the operator does about a job that waits, or is suspended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.model import ControllerRef, JobSpec
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.actions import (
    DeleteControllerPod,
    Why,
)
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.usage import Want, standing
from managedjobs.core.scheduling.view import VanishedPod
from tests.support.decided import next_look, steps, view, written
from tests.support.jobs import NOW, TERM, ago, make_job, make_pod


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
        [delete] = deletes
        assert isinstance(delete, DeleteControllerPod)
        assert delete.expect_version == "100"


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
