"""An attempt that is up: what ends it, what parks it, what is only said."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.driving.steps import (
    Look,
    ReadLastLine,
    Wait,
)
from managedjobs.core.driving.view import (
    Node,
)
from managedjobs.core.endings import Ending
from managedjobs.core.model import Job, NodeLost, RecoveryPolicy
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from tests.support.driven import NOW, ago, child, driven, failed_pod, pod
from tests.support.driving import decided, job_with, outcome, written

LAUNCHING = driven(ScheduleState.LAUNCHING, started=10)
PARKED = driven(ScheduleState.PARKED, started=10)
ALIVE = driven()


@pytest.mark.parametrize("job", [LAUNCHING, PARKED, ALIVE], ids=["launching", "parked", "alive"])
def test_success_ends_the_job(job: Job):
    step = written(job, child=child(complete=True, completed_indexes=frozenset({0})), fresh=False)
    assert outcome(step) == (ScheduleState.DONE, Phase.SUCCEEDED, Reason.SUCCEEDED, Ending.SUCCEEDED)
    assert step.status.exit_code == 0
    assert step.status.first_up_time is not None


def test_a_running_job_has_nothing_to_do():
    said = replace(ALIVE, status=replace(ALIVE.status, reason="Running", description="Running: attempt 1, 1 pod."))
    assert decided(said, pod(0), child=child(), fresh=False) == Wait()


def test_an_ending_counts_only_after_a_live_look_at_the_child_job():
    lost = failed_pod(0, disruption="PreemptionByScheduler")
    assert decided(ALIVE, lost, child=child(), fresh=False) == Look()
    assert outcome(written(ALIVE, lost, child=child(suspended=True))) == (
        ScheduleState.PARKED,
        Phase.RECOVERING,
        Reason.PARKED,
        None,
    )
    assert outcome(written(ALIVE, lost, child=child())) == (
        ScheduleState.ALIVE_WAITING,
        Phase.RECOVERING,
        Reason.RECOVERING,
        Ending.PREEMPTED,
    )


def test_the_programs_failure_is_counted_and_its_last_line_read():
    job = job_with(ALIVE, recovery=RecoveryPolicy(max_restarts_on_errors=1))
    quiet = failed_pod(0, 3, container_reports_log=False)
    assert decided(job, quiet, child=child()) == ReadLastLine(pod="train-0-abcde", pod_uid="pod-0", container="main")
    step = written(job, quiet, child=child(), last_lines={("pod-0", "main"): "KeyError"})
    assert outcome(step)[0] is ScheduleState.ALIVE_WAITING
    assert (step.status.failure_count, step.status.exit_code) == (1, 3)
    assert 'Last line: "KeyError".' in step.status.description
    assert "KeyError" in (step.status.attempts[-1].message or "")


def test_a_failure_that_the_job_controller_has_acted_on_is_the_outcome_at_once():
    step = written(ALIVE, failed_pod(0, 3), child=child(failed=True))
    assert outcome(step) == (ScheduleState.DONE, Phase.FAILED, Reason.PROGRAM_FAILED, Ending.PROGRAM_FAILED)


def test_an_infrastructure_ending_is_not_counted():
    step = written(ALIVE, failed_pod(0, 143, reason="Evicted"), child=child())
    assert (step.status.failure_count, step.status.exit_code) == (0, None)


SILENT = {"node-0": Node(name="node-0", unreachable_since=ago(30))}
LOST = {"node-0": Node(name="node-0", unreachable_since=ago(60))}
PATIENT = RecoveryPolicy(node_lost=NodeLost(relaunch=False))


def test_a_silent_node_is_said_and_after_the_timeout_the_attempt_is_lost():
    lonely = pod(0, ready=False, unready_reason="")
    step = written(ALIVE, lonely, child=child(), nodes=SILENT)
    assert "node-0 of pod 0 does not answer" in step.status.description
    said = replace(ALIVE, status=step.status)
    assert decided(said, lonely, child=child(), nodes=SILENT) == Wait(NOW + timedelta(seconds=5))
    assert outcome(written(said, lonely, child=child(), nodes=LOST))[3] == Ending.NODE_LOST


def test_with_the_policy_wait_a_silent_node_is_never_given_up():
    job = job_with(ALIVE, recovery=PATIENT)
    lonely = pod(0, ready=False, unready_reason="", deletion_asked_at=ago(300), deletion_due_at=ago(270))
    step = written(job, lonely, child=child(), nodes=LOST)
    assert "nodeLost.policy is Wait" in step.status.description
    assert step.status.state is ScheduleState.ALIVE
