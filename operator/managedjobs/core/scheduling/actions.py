"""What the operator may do about one job: a closed set of described effects, carried out elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from managedjobs.core.model import Job, JobKey, JobStatus
from managedjobs.core.note import Note
from managedjobs.core.scheduling.controller_pod import ControllerPod


class Why(StrEnum):
    """Why a status is written; a label of the metrics."""

    TEXT = "text"
    GRANT = "grant"
    REVOKE = "revoke"
    SUSPEND = "suspend"
    RESUME = "resume"
    END = "end"
    TAKE_OVER = "take-over"
    COUNT_FAILURE = "count-failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateControllerPod:
    """Create the one controller pod that may take over from `predecessor`."""

    job: Job
    predecessor: str
    is_claim: bool
    """A claim takes both slots; a successor takes none."""
    read_first: bool
    """Whether the job must first be read live and found unchanged (DESIGN 3.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteControllerPod:
    """Delete a controller pod by its uid."""

    pod: ControllerPod
    key: JobKey
    force: bool = False
    """Whether to remove the object at once, without its kubelet's word."""
    expect_version: str | None = None
    """Read the job live first and go on only if it has this resourceVersion; "": only if it is gone; None: no need."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Write this status, refused when the object is no longer the one it was decided on; then record the note."""

    job: Job
    status: JobStatus
    why: Why
    note: Note | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChildJob:
    """Suspend the job's child Job and find out whether its pods have ended."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """Delete the ManagedJob, if it is still the object that was seen."""

    job: Job


@dataclass(frozen=True, slots=True)
class CheckAgainAt:
    """Decide again at that moment though nothing changes."""

    moment: datetime


Action = CreateControllerPod | DeleteControllerPod | WriteStatus | StopChildJob | DeleteJob | CheckAgainAt
Effect = CreateControllerPod | DeleteControllerPod | WriteStatus | StopChildJob | DeleteJob

MOMENT = timedelta(seconds=1)
"""Added to a deadline before looking again, so that whole-second timestamps are past it."""
