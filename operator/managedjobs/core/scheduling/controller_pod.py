"""A controller pod as decisions see it, and whether it is gone for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from managedjobs.core.model import JobKey
from managedjobs.core.pod_phase import PodPhase

NODE_LOST_AFTER = timedelta(seconds=30)
"""How long a node is not ready before its controller pods are taken for gone (DESIGN 3.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPod:
    """A controller pod as the API server showed it at `resource_version`."""

    name: str
    uid: str
    resource_version: str = ""
    job_uid: str
    job: JobKey
    pool: str
    predecessor: str = ""
    """The fence value it may take over from; "" for the first claim of a job."""
    phase: PodPhase = PodPhase.PENDING
    created: datetime
    node_name: str | None = None
    scheduled: bool = False
    unschedulable: str | None = None
    """What the scheduler says while it finds no node."""
    waiting: str | None = None
    """Why the container has not started, such as `ImagePullBackOff: …`."""
    deletion_time: datetime | None = None
    """When its grace is over; None: nobody deleted it."""
    failed_at: datetime | None = None
    """When its program last exited by its own fault (not 0, out of memory, not while it was being evicted)."""
    delete_asked: datetime | None = None
    """When we last asked for its deletion; not known to the API server."""

    @property
    def ended(self) -> bool:
        """Whether its containers have ended and won't start again."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


def gone_for_good(pod: ControllerPod, unready_since: Mapping[str, datetime], now: datetime) -> bool:
    """Whether the pod counts as gone though its object is there (DESIGN 3.3, "Gone for good").

    `unready_since` has the nodes that are not ready.
    """
    if pod.ended:
        return True
    if pod.deletion_time is not None and now > pod.deletion_time:
        return True
    since = unready_since.get(pod.node_name or "")
    return since is not None and now - since >= NODE_LOST_AFTER


def next_look(pod: ControllerPod, unready_since: Mapping[str, datetime], now: datetime) -> datetime | None:
    """When the answer of `gone_for_good` may change by time alone; None: never."""
    moments = []
    if pod.deletion_time is not None and pod.deletion_time >= now:
        moments.append(pod.deletion_time + timedelta(seconds=1))
    since = unready_since.get(pod.node_name or "")
    if since is not None and now - since < NODE_LOST_AFTER:
        moments.append(since + NODE_LOST_AFTER)
    return min(moments, default=None)
