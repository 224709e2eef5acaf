"""Pods whose Job is gone (deleted with `--cascade=orphan`): nobody else would ever end them."""

from dataclasses import replace

import pytest

from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import DeletePod, Look, Wait
from managedjobs.core.model import JobSpec
from managedjobs.core.phases import Phase, ScheduleState
from tests.support.driven import ME, NOW, ago, child, driven, pod, view
from tests.support.driving import decided

ORPHAN = replace(pod(0), owner_uid=None)
GONE = DeletePod(name=ORPHAN.name, uid=ORPHAN.uid, force=False)
GOING = replace(ORPHAN, deletion_asked_at=ago(1), deletion_due_at=ago(-29))


@pytest.mark.parametrize("state", [ScheduleState.ALIVE_WAITING, ScheduleState.ALIVE_BACKOFF])
def test_an_orphan_is_ended_between_two_attempts_within_its_grace_period(state: ScheduleState):
    assert decided(driven(state), ORPHAN) == GONE
    assert decided(driven(state), ORPHAN, fresh=False) == Look()
    assert not isinstance(decided(driven(state), GOING), DeletePod)


@pytest.mark.parametrize(
    ("spec", "phase"),
    [(JobSpec(cancel=True), Phase.CANCELLING), (JobSpec(suspend=True), Phase.SUSPENDING)],
    ids=["cancel", "suspend"],
)
def test_an_orphan_is_ended_when_its_job_is_stopped(spec: JobSpec, phase: Phase):
    stopping = driven(spec=spec, phase=phase)
    assert decided(stopping, ORPHAN) == GONE
    assert isinstance(decided(stopping, GOING), Wait)


def test_the_orphans_of_a_deleted_job_are_ended_with_it():
    assert decide_step(view(None, ORPHAN), ME, NOW) == GONE


def test_a_pod_of_the_present_child_job_is_no_orphan():
    stopping = driven(spec=JobSpec(cancel=True), phase=Phase.CANCELLING)
    assert isinstance(decided(stopping, pod(0), child=child(suspended=True)), Wait)
