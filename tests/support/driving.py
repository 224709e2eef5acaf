"""Deciding one step in a test, and reading what was decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import Step, WriteStatus
from managedjobs.core.driving.view import ChildJob, Pod
from managedjobs.core.model import Job
from managedjobs.core.phases import Phase, ScheduleState
from tests.support.driven import ME, NOW, view


def decided(job: Job, *pods: Pod, child: ChildJob | None = None, **more: Any) -> Step:  # noqa: ANN401 -- any field of View
    """The step that the controller decides on now; it sees live, unless said otherwise."""
    return decide_step(view(job, *pods, child=child, **more), ME, NOW)


def written(job: Job, *pods: Pod, child: ChildJob | None = None, **more: Any) -> WriteStatus:  # noqa: ANN401 -- any field of View
    """The step, which must be a write."""
    step = decided(job, *pods, child=child, **more)
    assert isinstance(step, WriteStatus), step
    return step


def outcome(step: WriteStatus) -> tuple[ScheduleState, Phase, str, str | None]:
    """State, phase, reason and the ending of the newest attempt."""
    status = step.status
    return status.state, status.phase, status.reason, status.attempts[-1].ending


def job_with(job: Job, **spec: Any) -> Job:  # noqa: ANN401 -- any field of JobSpec
    """The job with other wishes."""
    return replace(job, spec=replace(job.spec, **spec))
