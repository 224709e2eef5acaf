"""All that one decision of the operator about one job is made on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from managedjobs.core.model import Job, JobKey
from managedjobs.core.scheduling.controller_pod import ControllerPod


class ChildState(StrEnum):
    """What the operator knows of a job's child Job, when it ends the job itself."""

    UNKNOWN = "Unknown"
    STOPPING = "Stopping"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPod:
    """A controller pod that was asked for, while the request has no answer: what it did is not known."""

    name: str
    predecessor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VanishedPod:
    """A claim's pod that is known to be gone, while its claim has not been revoked yet."""

    uid: str
    predecessor: str
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorView:
    """One job, its controller pods, and what was asked for and not seen yet."""

    uid: str
    key: JobKey
    job: Job | None
    """None: no such job; `absent_since` says since when."""
    pods: tuple[ControllerPod, ...] = ()
    expected: ExpectedPod | None = None
    vanished: tuple[VanishedPod, ...] = ()
    unready_since: Mapping[str, datetime] = field(default_factory=dict)
    """The nodes that are not ready."""
    absent_since: datetime | None = None
    uncontrolled_since: datetime | None = None
    """Since when no controller runs for the live job; None: one does."""
    child: ChildState = ChildState.UNKNOWN

    def claims(self) -> tuple[ControllerPod, ...]:
        """The pods that may still take the job over from its present fence."""
        if self.job is None:
            return ()
        fence = self.job.status.fence
        return tuple(pod for pod in self.pods if pod.predecessor == fence)

    def is_claimed(self) -> bool:
        """Whether a claim was made that has been neither taken over nor revoked."""
        if self.job is None:
            return False
        fence = self.job.status.fence
        return (
            bool(self.claims())
            or self.expected is not None
            or any(gone.predecessor == fence for gone in self.vanished)
        )
