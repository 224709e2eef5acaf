"""Asking the operator's core about one job."""

from dataclasses import replace
from datetime import datetime

from managedjobs.core.model import Job
from managedjobs.core.scheduling.actions import (
    Action,
    CheckAgainAt,
    WriteStatus,
)
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.decide import decide
from managedjobs.core.scheduling.view import OperatorView
from tests.support.jobs import NOW, TERM, make_job


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
