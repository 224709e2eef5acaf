"""What follows from a phase: conditions, running time, the end."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from managedjobs.core.conditions import IllegalTransitionError, find_condition, set_condition, settle
from managedjobs.core.model import Condition, JobStatus, Schedule
from managedjobs.core.phases import LEGAL, Phase, ScheduleState

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PHASE_OF = {
    ScheduleState.WAITING: Phase.PENDING,
    ScheduleState.LAUNCHING: Phase.LAUNCHING,
    ScheduleState.PARKED: Phase.LAUNCHING,
    ScheduleState.ALIVE: Phase.RUNNING,
    ScheduleState.ALIVE_WAITING: Phase.RECOVERING,
    ScheduleState.ALIVE_BACKOFF: Phase.RECOVERING,
    ScheduleState.SUSPENDED: Phase.SUSPENDED,
    ScheduleState.DONE: Phase.SUCCEEDED,
}


def status(state: ScheduleState) -> JobStatus:
    return JobStatus(phase=PHASE_OF[state], reason="R", description="d", schedule=Schedule(state=state))


def truths(settled: JobStatus) -> dict[str, str]:
    return {condition.type: condition.status for condition in settled.conditions}


@pytest.mark.parametrize(
    ("phase", "state", "want"),
    [
        pytest.param(
            Phase.PENDING, ScheduleState.WAITING,
            {"Admitted": "False", "Running": "False", "Succeeded": "Unknown", "Reconciling": "True",
             "Stalled": "False"},
            id="a waiting job is not admitted and its success is unknown",
        ),
        pytest.param(
            Phase.RUNNING, ScheduleState.ALIVE,
            {"Admitted": "True", "Running": "True", "Succeeded": "Unknown", "Reconciling": "True", "Stalled": "False"},
            id="a running job is admitted and running",
        ),
        pytest.param(
            Phase.FAILED, ScheduleState.DONE,
            {"Admitted": "True", "Running": "False", "Succeeded": "False", "Reconciling": "False", "Stalled": "True"},
            id="a failed job is stalled: only a person can change that",
        ),
        pytest.param(
            Phase.CANCELLED, ScheduleState.DONE,
            {"Admitted": "True", "Running": "False", "Succeeded": "False", "Reconciling": "False", "Stalled": "False"},
            id="a cancelled job did not succeed but is not stalled",
        ),
    ],
)  # fmt: skip
def test_conditions_follow_from_phase_and_state(phase: Phase, state: ScheduleState, want: dict[str, str]):
    new = JobStatus(phase=phase, schedule=Schedule(state=state))
    assert truths(settle(new, new, generation=1, now=NOW)) == want


@pytest.mark.parametrize("old", list(ScheduleState))
@pytest.mark.parametrize("new", list(ScheduleState))
def test_only_the_transitions_of_the_protocol_are_settled(old: ScheduleState, new: ScheduleState):
    if new is old or new in LEGAL[old]:
        assert settle(status(old), status(new), generation=1, now=NOW).state is new
    else:
        with pytest.raises(IllegalTransitionError):
            settle(status(old), status(new), generation=1, now=NOW)


def test_a_finished_phase_needs_the_state_done():
    odd = JobStatus(phase=Phase.SUCCEEDED, schedule=Schedule(state=ScheduleState.ALIVE))
    with pytest.raises(IllegalTransitionError):
        settle(status(ScheduleState.ALIVE), odd, generation=1, now=NOW)


def test_the_transition_time_moves_only_when_the_status_flips():
    first = settle(status(ScheduleState.ALIVE), status(ScheduleState.ALIVE), generation=1, now=NOW)
    changed = replace(first, description="something else")
    later = settle(first, changed, generation=1, now=NOW + timedelta(hours=1))
    running = find_condition(later.conditions, "Running")
    assert running is not None
    assert (running.last_transition_time, running.message) == (NOW, "something else")


def test_only_what_holds_now_speaks_the_present_sentence():
    waiting = replace(status(ScheduleState.WAITING), reason="Queued", description="waits")
    started = replace(status(ScheduleState.LAUNCHING), reason="Launching", description="starts")
    running = replace(status(ScheduleState.ALIVE), reason="Running", description="runs")
    settled = settle(waiting, waiting, generation=1, now=NOW)
    for later in (started, running):
        settled = settle(settled, replace(later, conditions=settled.conditions), generation=1, now=NOW)
    assert {c.type: (c.reason, c.message) for c in settled.conditions} == {
        "Admitted": ("Launching", ""),
        "Running": ("Running", "runs"),
        "Succeeded": ("Queued", ""),
        "Reconciling": ("Running", "runs"),
        "Stalled": ("Queued", ""),
    }


def test_conditions_of_others_are_kept():
    other = Condition(type="example.com/Quota", status="True", reason="X", last_transition_time=NOW)
    old = replace(status(ScheduleState.ALIVE), conditions=(other,))
    assert other in settle(old, old, generation=1, now=NOW).conditions


def test_running_time_adds_up_over_recoveries():
    alive = settle(status(ScheduleState.LAUNCHING), status(ScheduleState.ALIVE), generation=1, now=NOW)
    lost_at = NOW + timedelta(seconds=90)
    lost = replace(alive, phase=Phase.RECOVERING, schedule=Schedule(state=ScheduleState.ALIVE_WAITING))
    recovering = settle(alive, lost, generation=1, now=lost_at)
    assert recovering.running_seconds == 90
    again = settle(recovering, replace(recovering, description="still"), generation=1, now=lost_at)
    assert again.running_seconds == 90


def test_the_completion_time_is_set_once():
    done = settle(status(ScheduleState.ALIVE), status(ScheduleState.DONE), generation=1, now=NOW)
    later = settle(done, replace(done, description="cleaned up"), generation=2, now=NOW + timedelta(hours=1))
    assert (done.completion_time, later.completion_time, later.observed_generation) == (NOW, NOW, 2)


def test_a_long_message_is_cut():
    long = replace(status(ScheduleState.WAITING), description="x" * 5000)
    settled = settle(long, long, generation=1, now=NOW)
    assert max(len(condition.message) for condition in settled.conditions) <= 1024


def test_a_new_condition_goes_last():
    first = Condition(type="A", status="True", reason="X")
    second = Condition(type="B", status="True", reason="X")
    assert set_condition((first,), second) == (first, second)
