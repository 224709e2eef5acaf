"""Which slots a job holds, and which it wants."""

import pytest

from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.usage import Want, standing
from managedjobs.core.scheduling.view import ExpectedPod
from tests.support.decided import view
from tests.support.jobs import NOW, make_job, make_pod

LIVE = sorted(state for state in ScheduleState if state.is_live)


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
