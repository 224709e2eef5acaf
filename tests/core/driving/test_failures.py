"""How attempts end, and whose doing it is."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.driving.failures import BELIEF_GRACE, BelieveAt, NeedLastLine, find_ending
from managedjobs.core.driving.view import ChildJob, Container, Pod
from managedjobs.core.endings import PROGRAM_ENDINGS, Ending, Report
from managedjobs.core.pod_phase import PodPhase
from tests.support.driven import NOW, ago, child, failed_pod, pending_pod, pod


def ending_of(*pods: Pod, of: ChildJob | None = None) -> Report:
    found = find_ending(of or child(), pods, now=NOW)
    assert isinstance(found, Report), found
    return found


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([failed_pod(0, 1)], Ending.PROGRAM_FAILED, id="a non-zero exit is the program's failure"),
        pytest.param(
            [failed_pod(0, 1, container_end_reason="OOMKilled")], Ending.OUT_OF_MEMORY, id="the reason OOMKilled"
        ),
        pytest.param(
            [failed_pod(0, 137, container_end_reason="Error", container_memory_limit="1Gi")],
            Ending.OUT_OF_MEMORY,
            id="137 under a memory limit is out of memory, as the reason is missing at times",
        ),
        pytest.param(
            [failed_pod(0, 137, container_end_reason="Error")],
            Ending.PROGRAM_FAILED,
            id="137 without a limit is somebody's kill",
        ),
        pytest.param(
            [failed_pod(0, 143, reason="DeadlineExceeded")], Ending.POD_DEADLINE, id="the pod's own deadline"
        ),
        pytest.param(
            [failed_pod(0, 143, disruption="PreemptionByScheduler")], Ending.PREEMPTED, id="preempted by the scheduler"
        ),
        pytest.param(
            [failed_pod(0, 137, reason="Evicted", disruption="TerminationByKubelet")],
            Ending.EVICTED,
            id="evicted by its node",
        ),
        pytest.param([failed_pod(0, 143, disruption="EvictionByEvictionAPI")], Ending.EVICTED, id="drained"),
        pytest.param([failed_pod(0, 137, disruption="DeletionByTaintManager")], Ending.NODE_LOST, id="taint manager"),
        pytest.param([failed_pod(0, 137, disruption="DeletionByPodGC")], Ending.NODE_LOST, id="node removed"),
        pytest.param(
            [failed_pod(0, 143, reason="Terminated", disruption="TerminationByKubelet")],
            Ending.NODE_SHUTDOWN,
            id="node shut down",
        ),
        pytest.param([failed_pod(0, 143, disruption="SomethingNew")], Ending.DISRUPTED, id="an unknown disruption"),
        pytest.param(
            [failed_pod(0, 137, container_end_reason="ContainerStatusUnknown")],
            Ending.NODE_LOST,
            id="the kubelet lost track of the container",
        ),
        pytest.param(
            [failed_pod(0, 0, reason="OutOfcpu")],
            Ending.REJECTED,
            id="the node would not take it",
        ),
        pytest.param(
            [failed_pod(0, 143, seconds_ago=5, deletion_asked_at=ago(8), deletion_due_at=ago(-22))],
            Ending.POD_DELETED,
            id="a pod that somebody deleted, whatever its exit code",
        ),
        pytest.param(
            [failed_pod(0, 1, seconds_ago=20, deletion_asked_at=ago(8), deletion_due_at=ago(-22))],
            Ending.PROGRAM_FAILED,
            id="a pod that was deleted after its program had failed",
        ),
        pytest.param(
            [
                failed_pod(0, 1, seconds_ago=20),
                failed_pod(1, 143, seconds_ago=15, deletion_asked_at=ago(19), deletion_due_at=ago(-11)),
            ],
            Ending.PROGRAM_FAILED,
            id="the Job controller deletes the peers of a pod that failed",
        ),
        pytest.param(
            [
                failed_pod(0, 1, seconds_ago=20),
                pod(1, deletion_asked_at=ago(25), deletion_due_at=ago(-5)),
            ],
            Ending.POD_DELETED,
            id="the peers of a deleted pod crash after it",
        ),
        pytest.param(
            [failed_pod(0, 1, seconds_ago=20), failed_pod(1, 143, disruption="PreemptionByScheduler")],
            Ending.PREEMPTED,
            id="the peers of a preempted pod crash, it is still a preemption",
        ),
        pytest.param(
            [failed_pod(0, 1, seconds_ago=20), pod(1, disruption="PreemptionByScheduler")],
            Ending.PREEMPTED,
            id="a preemption counts before the pod has ended when a peer has crashed",
        ),
    ],
)
def test_an_ending_is_whose_doing_it_was(pods: list[Pod], want: Ending):
    assert ending_of(*pods).ending is want


def test_nothing_has_ended_while_pods_run():
    assert find_ending(child(), (pod(0), pending_pod(1)), now=NOW) is None


def test_a_pod_that_is_being_deleted_has_not_ended_before_it_has_ended():
    assert find_ending(child(), (pod(0, deletion_asked_at=ago(5), deletion_due_at=ago(-25)),), now=NOW) is None


def test_a_pod_that_succeeded_though_it_was_deleted_is_no_ending():
    done = pod(0, phase=PodPhase.SUCCEEDED, disruption="EvictionByEvictionAPI", deletion_asked_at=ago(5))
    assert find_ending(child(), (done,), now=NOW) is None


def test_a_failed_container_ends_the_attempt_while_the_main_one_runs_and_is_named():
    two = (
        Container(name="main", running=True),
        Container(name="helper", exit_code=4, ended_at=ago(9), message="boom"),
    )
    report = ending_of(pod(0, containers=two))
    assert (report.ending, report.container, report.exit_code) == (Ending.PROGRAM_FAILED, "helper", 4)


def test_a_failed_sidecar_is_no_ending():
    two = (
        Container(name="main", running=True),
        Container(name="proxy", init=True, sidecar=True, exit_code=1, ended_at=ago(9)),
    )
    assert find_ending(child(), (pod(0, containers=two),), now=NOW) is None


def test_the_first_of_several_failures_is_reported():
    report = ending_of(failed_pod(0, 1, seconds_ago=5), failed_pod(1, 2, seconds_ago=9))
    assert (report.index, report.exit_code) == (1, 2)


@pytest.mark.parametrize(
    ("pods", "waits"),
    [
        pytest.param([failed_pod(0, 1, seconds_ago=1)], False, id="a single pod is believed at once"),
        pytest.param([failed_pod(0, 1, seconds_ago=1), pod(1)], True, id="a pod with peers is not"),
        pytest.param(
            [failed_pod(0, 1, seconds_ago=1, deletion_asked_at=ago(0.5), deletion_due_at=ago(-30))],
            True,
            id="nor is one that is being deleted",
        ),
    ],
)
def test_a_failure_that_may_have_another_cause_waits_a_moment(pods: list[Pod], waits: bool):
    found = find_ending(child(), tuple(pods), now=NOW)
    assert found == BelieveAt(ago(1) + BELIEF_GRACE) if waits else isinstance(found, Report)
    later = find_ending(child(), tuple(pods), now=NOW + BELIEF_GRACE)
    assert isinstance(later, Report)


def test_a_clock_ahead_of_ours_delays_belief_no_longer_than_the_grace():
    found = find_ending(child(), (failed_pod(0, 1, seconds_ago=-3600), pod(1)), now=NOW)
    assert found == BelieveAt(NOW + BELIEF_GRACE)


def test_the_last_line_is_the_end_of_the_termination_message():
    assert ending_of(failed_pod(0, 1, container_message="one\n two \n\n")).last_line == "two"


def test_a_log_is_asked_for_only_where_the_message_can_not_have_it():
    quiet = failed_pod(0, 1, container_reports_log=False)
    assert find_ending(child(), (quiet,), now=NOW) == NeedLastLine(pod=quiet, container="main")
    found = find_ending(child(), (quiet,), now=NOW, last_lines={("pod-0", "main"): "bye"})
    assert isinstance(found, Report)
    assert found.last_line == "bye"
    assert ending_of(failed_pod(0, 1, container_reports_log=True)).last_line == ""


def test_a_pod_on_a_lost_node_ends_the_attempt():
    found = find_ending(child(), (pod(0), pod(1)), now=NOW, lost_nodes=frozenset({"node-1"}))
    assert found == Report(ending=Ending.NODE_LOST, index=1, node="node-1")


def test_a_failure_that_nobody_can_see_any_more_is_not_held_against_the_program():
    assert ending_of(of=child(failed=True)).ending is Ending.POD_DELETED


@given(
    codes=st.lists(st.integers(1, 255), min_size=1, max_size=4),
    disrupted=st.integers(0, 3),
    reason=st.sampled_from(["PreemptionByScheduler", "EvictionByEvictionAPI", "DeletionByTaintManager", "New"]),
)
def test_a_disrupted_pod_in_a_group_is_never_taken_for_a_bug(codes: list[int], disrupted: int, reason: str):
    pods = [failed_pod(index, code) for index, code in enumerate(codes)]
    at = min(disrupted, len(pods) - 1)
    pods[at] = failed_pod(at, codes[at], disruption=reason)
    found = find_ending(child(), tuple(pods), now=NOW + timedelta(seconds=60))
    assert isinstance(found, Report)
    assert found.ending not in PROGRAM_ENDINGS
