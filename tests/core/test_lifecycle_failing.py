"""A failed program's pods and logs stay: the Job controller ends the rest of the attempt, not we."""

from dataclasses import replace

from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.steps import Wait, WriteStatus
from tests.support.driven import child, driven, failed_pod, pod
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
