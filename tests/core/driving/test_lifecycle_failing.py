"""A failed program's pods and logs stay: the Job controller ends the rest of the attempt, not we."""

from dataclasses import replace

from managedjobs.core.driving.steps import DeletePod, StopChildJob, Wait, WriteStatus
from managedjobs.core.driving.view import Container, Node
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from tests.support.driven import ago, child, driven, failed_pod, pod
from tests.support.driving import decided, outcome, written


def test_a_failed_pod_is_kept_by_not_suspending_its_child_job():
    intent = written(driven(), failed_pod(exit_code=3), pod(1), child=child())
    failing = replace(driven(), status=intent.status)
    assert intent.status.state is ScheduleState.ALIVE
    assert isinstance(decided(failing, failed_pod(exit_code=3), pod(1), child=child()), Wait)
    assert isinstance(decided(failing, failed_pod(exit_code=3), pod(1), child=child(failed=True)), Wait)
    done = decided(failing, failed_pod(exit_code=3), child=child(failed=True, over=True))
    assert isinstance(done, WriteStatus)
    assert outcome(done)[:2] == (ScheduleState.DONE, Phase.FAILED)
    assert done.status.exit_code == 3


def test_a_single_pod_that_failed_is_the_outcome_at_once():
    done = written(driven(), failed_pod(exit_code=3), child=child())
    assert outcome(done)[:2] == (ScheduleState.DONE, Phase.FAILED)


def test_a_peer_on_a_lost_node_does_not_hold_a_failure_up_for_ever():
    intent = written(driven(), failed_pod(exit_code=3), pod(1), child=child())
    failing = replace(driven(), status=intent.status)
    going = pod(1, deletion_asked_at=ago(99), deletion_due_at=ago(69))
    lost = {"node-1": Node(name="node-1", unreachable_since=ago(61))}
    step = decided(failing, failed_pod(exit_code=3), going, child=child(failed=True), nodes=lost)
    assert step == DeletePod(name="train-1-abcde", uid="pod-1", force=True)


def test_a_pod_whose_kubelet_has_not_yet_said_that_it_failed_is_kept_as_well():
    ended = replace(failed_pod(exit_code=3), phase=PodPhase.RUNNING)
    intent = written(driven(), ended, child=child())
    assert intent.status.description.startswith("Failing, its pods are ending: exit code 3")
    failing = replace(driven(), status=intent.status)
    assert isinstance(decided(failing, ended, child=child()), Wait)


def test_a_pod_with_a_container_that_runs_on_has_to_be_stopped():
    failed = failed_pod(exit_code=3)
    beside = replace(
        failed, phase=PodPhase.RUNNING, containers=(*failed.containers, Container(name="b", running=True))
    )
    failing = replace(driven(), status=written(driven(), beside, child=child()).status)
    assert isinstance(decided(failing, beside, child=child()), StopChildJob)
