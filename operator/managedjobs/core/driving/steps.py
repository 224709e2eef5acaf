"""What a controller may do next: one step per decision, a closed set."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from managedjobs.core.model import JobStatus
from managedjobs.core.note import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Write this status, refused when the object is no longer the one that was seen."""

    status: JobStatus
    note: Note | None = None
    text_only: bool = False
    """Whether it changes nothing but words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateChildJob:
    """Create the child Job of that attempt."""

    attempt: int
    prefer_node: str | None = None
    """A node to try first."""


@dataclass(frozen=True, slots=True)
class CreateService:
    """Create the headless Service of the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChildJob:
    """Suspend the child Job: its pods get their termination signal and their grace period."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteChildJob:
    """Delete the child Job in the foreground: its name stays taken until its pods are gone."""

    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete a pod that nobody else would: its node can't be reached, or its Job is gone and left it behind."""

    name: str
    uid: str
    force: bool
    """Whether to remove the object at once, without its kubelet's word and without a grace period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLastLine:
    """Read the end of a container's log."""

    pod: str
    pod_uid: str
    container: str


@dataclass(frozen=True, slots=True)
class Look:
    """List the child Job, the pods and the Service live, then decide again: a cache is not proof enough here."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before something changes, or before that moment (None: only a change)."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """Leave with this exit code: the job is not, or no longer, ours to drive."""

    code: int = 0
    why: str = ""


Step = (
    WriteStatus
    | CreateChildJob
    | CreateService
    | StopChildJob
    | DeleteChildJob
    | DeletePod
    | ReadLastLine
    | Look
    | Wait
    | Exit
)
