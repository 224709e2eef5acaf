"""Removing controller pods that have nothing left to do."""

from __future__ import annotations

from datetime import datetime, timedelta

from managedjobs.core.phases import ScheduleState
from managedjobs.core.scheduling.actions import MOMENT, Action, CheckAgainAt, DeleteControllerPod
from managedjobs.core.scheduling.controller_pod import ControllerPod, gone_for_good, next_look
from managedjobs.core.scheduling.view import OperatorView

EXIT_PATIENCE = timedelta(seconds=30)
"""How long a controller of a finished, suspended or deleted job may take to exit by itself."""
ASK_AGAIN = timedelta(seconds=15)
"""How long a deletion that was asked for may take before it is asked for again."""


def sweep(view: OperatorView, since: datetime, now: datetime) -> list[Action]:
    """Delete the pods of a job that needs none since `since`: ended ones now, running ones when patience is over."""
    actions: list[Action] = []
    for pod in view.pods:
        if gone_for_good(pod, view.unready_since, now) or now - since >= EXIT_PATIENCE:
            actions += delete(view, pod, now, why="its job needs no controller")
        else:
            actions += look_again(view, pod, now)
            actions.append(CheckAgainAt(since + EXIT_PATIENCE + MOMENT))
    return actions


def delete(view: OperatorView, pod: ControllerPod, now: datetime, *, why: str) -> list[Action]:
    """Ask for the pod's deletion, forcing it where its kubelet can't answer; not twice within ASK_AGAIN."""
    gone = gone_for_good(pod, view.unready_since, now)
    force = gone and not pod.ended
    if pod.delete_asked is not None and now - pod.delete_asked < ASK_AGAIN:
        return [CheckAgainAt(pod.delete_asked + ASK_AGAIN)]
    if pod.deletion_time is not None and not gone:
        return look_again(view, pod, now)
    return [DeleteControllerPod(pod=pod, key=view.key, force=force, expect_version=_expected(view), why=why)]


def look_again(view: OperatorView, pod: ControllerPod, now: datetime) -> list[Action]:
    """The moment at which the pod may be gone for good without a further event."""
    moment = next_look(pod, view.unready_since, now)
    return [] if moment is None else [CheckAgainAt(moment)]


def _expected(view: OperatorView) -> str | None:
    if view.job is None:
        return ""
    if view.job.status.state is ScheduleState.DONE:
        return None  # a finished job can't become another: no need to read it again
    return view.job.resource_version
