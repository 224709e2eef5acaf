"""Whether an attempt has failed, and whose doing it was.

Order of belief, first hit wins: the cluster took a pod (its condition or reason says so); someone deleted a pod
before anything failed; the program failed. Whoever is first to fall takes the others along: peers of a preempted
pod crash, and the Job controller deletes the peers of a crashed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from managedjobs.core.driving.view import ChildJob, Container, Pod
from managedjobs.core.endings import Ending, Report
from managedjobs.core.pod_phase import PodPhase

BELIEF_GRACE = timedelta(seconds=3)
"""How long a failure beside other pods, or of a pod that is being deleted, waits for a better explanation."""

KILLED = 137
"""128 + SIGKILL. On cgroup v1 a part of the out-of-memory kills has the reason Error: the code is all there is."""

_DISRUPTIONS = {
    "PreemptionByScheduler": Ending.PREEMPTED,
    "DeletionByTaintManager": Ending.NODE_LOST,
    "EvictionByEvictionAPI": Ending.EVICTED,
    "DeletionByPodGC": Ending.NODE_LOST,
    "TerminationByKubelet": Ending.EVICTED,
}
_POD_REASONS = {
    "Evicted": Ending.EVICTED,
    "Preempting": Ending.PREEMPTED,
    "NodeLost": Ending.NODE_LOST,
    "NodeShutdown": Ending.NODE_SHUTDOWN,
    "Shutdown": Ending.NODE_SHUTDOWN,
    "Terminated": Ending.NODE_SHUTDOWN,
    "NodeAffinity": Ending.REJECTED,
    "UnexpectedAdmissionError": Ending.REJECTED,
    "TopologyAffinityError": Ending.REJECTED,
}
_REJECTION_PREFIX = "OutOf"  # OutOfcpu, OutOfmemory, OutOfpods…: the kubelet's own admission said no
_KUBELET_LOST_TRACK = frozenset({"ContainerStatusUnknown", "Unknown"})  # the node crashed or was started anew


@dataclass(frozen=True, slots=True)
class BelieveAt:
    """Something failed; whose doing it was is not believed before that moment."""

    moment: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedLastLine:
    """The program failed; the end of this container's log is missing for the sentence about it."""

    pod: Pod
    container: str


class _Failure(NamedTuple):
    ended_at: datetime
    pod: Pod
    container: Container


def find_ending(
    child: ChildJob,
    pods: tuple[Pod, ...],
    *,
    now: datetime,
    lost_nodes: frozenset[str] = frozenset(),
    last_lines: Mapping[tuple[str, str], str] | None = None,
) -> Report | BelieveAt | NeedLastLine | None:
    """How the attempt ended; None: it goes on. Success is not looked for: the child Job's condition has it."""
    failed = [pod for pod in pods if has_failed(pod)]
    if not failed:
        return _lost(pods, lost_nodes) or _vanished(child)
    disrupted = next((report for pod in pods if (report := _disruption(pod))), None)
    if disrupted:
        return disrupted
    own = min((f for pod in failed if (f := _own_failure(pod, now))), key=lambda f: f.ended_at, default=None)
    deleted = _deleted_before(pods, own)
    if deleted:
        return deleted
    if own is None:
        return _unexplained(failed[0])
    if len(pods) > 1 or own.pod.deleting:
        believe_at = min(own.ended_at, now) + BELIEF_GRACE
        if now < believe_at:
            return BelieveAt(believe_at)
    return _program_failure(own, last_lines or {})


def has_failed(pod: Pod) -> bool:
    """Whether the pod failed, or one of its containers did while others run on; sidecars don't count."""
    return pod.phase is PodPhase.FAILED or _failed_container(pod) is not None


def main_container(pod: Pod) -> Container | None:
    """The container that is named `main`, else the first regular one."""
    regular = [c for c in pod.containers if not c.init]
    return next((c for c in regular if c.name == "main"), regular[0] if regular else None)


def _failed_container(pod: Pod) -> Container | None:
    """The main container when it failed, else the first regular one that did, else an init container."""
    failed = [c for c in pod.containers if c.exit_code not in (None, 0) and not c.sidecar]
    main = main_container(pod)
    if main in failed:
        return main
    return next((c for c in failed if not c.init), failed[0] if failed else None)


def _disruption(pod: Pod) -> Report | None:
    if pod.phase is PodPhase.SUCCEEDED:
        return None
    container = _failed_container(pod)
    ending = _disruption_ending(pod)
    if ending is None and container is not None and container.end_reason in _KUBELET_LOST_TRACK:
        ending = Ending.NODE_LOST
    if ending is None:
        return None
    return Report(
        ending=ending,
        exit_code=container.exit_code if container else None,
        index=pod.index,
        node=pod.node,
        detail=pod.disruption_message or pod.message,
    )


def _disruption_ending(pod: Pod) -> Ending | None:
    by_reason = _POD_REASONS.get(pod.reason)
    if by_reason is None and pod.reason.startswith(_REJECTION_PREFIX):
        by_reason = Ending.REJECTED
    if pod.disruption is None:
        return by_reason
    return by_reason or _DISRUPTIONS.get(pod.disruption, Ending.DISRUPTED)


def _lost(pods: tuple[Pod, ...], lost_nodes: frozenset[str]) -> Report | None:
    pod = next((p for p in pods if p.node in lost_nodes and not p.ended), None)
    return Report(ending=Ending.NODE_LOST, index=pod.index, node=pod.node) if pod else None


def _vanished(child: ChildJob) -> Report | None:
    """The Job controller counted a failure whose pod nobody can see any more: no evidence against the program."""
    return Report(ending=Ending.POD_DELETED, detail=child.failure_message) if child.failed else None


def _own_failure(pod: Pod, now: datetime) -> _Failure | None:
    """The failure of a container that was not brought about by the deletion of its pod."""
    container = _failed_container(pod)
    if container is None:
        return None
    ended_at = container.ended_at or now
    if pod.deletion_asked_at is not None and ended_at >= pod.deletion_asked_at:
        return None
    return _Failure(ended_at, pod, container)


def _deleted_before(pods: tuple[Pod, ...], own: _Failure | None) -> Report | None:
    """The pod that someone deleted before the first failure; later deletions are the Job controller's."""
    deleted = [p for p in pods if p.deletion_asked_at is not None and p.phase is not PodPhase.SUCCEEDED]
    if own is not None:
        deleted = [p for p in deleted if p.deletion_asked_at and p.deletion_asked_at < own.ended_at]
    if not deleted:
        return None
    first = min(deleted, key=lambda p: (p.deletion_asked_at, p.name))
    container = _failed_container(first)
    return Report(
        ending=Ending.POD_DELETED,
        exit_code=container.exit_code if container else None,
        index=first.index,
        node=first.node,
    )


def _unexplained(pod: Pod) -> Report:
    """A failed pod of which no container failed: the kubelet says why in the pod's own status."""
    ending = Ending.POD_DEADLINE if pod.reason == "DeadlineExceeded" else Ending.PROGRAM_FAILED
    return Report(ending=ending, index=pod.index, node=pod.node, detail=pod.message or pod.reason)


def _program_failure(failure: _Failure, last_lines: Mapping[tuple[str, str], str]) -> Report | NeedLastLine:
    pod, container = failure.pod, failure.container
    line = _last_line(container.message)
    if not line and not container.reports_log:
        known = last_lines.get((pod.uid, container.name))
        if known is None:
            return NeedLastLine(pod=pod, container=container.name)
        line = known
    main = main_container(pod)
    return Report(
        ending=_program_ending(pod, container),
        exit_code=container.exit_code,
        index=pod.index,
        container=None if main is not None and container.name == main.name else container.name,
        node=pod.node,
        detail=container.end_reason if container.end_reason not in ("Error", "OOMKilled") else "",
        last_line=line,
        memory_limit=container.memory_limit,
    )


def _program_ending(pod: Pod, container: Container) -> Ending:
    if pod.reason == "DeadlineExceeded":
        return Ending.POD_DEADLINE
    if container.end_reason == "OOMKilled" or (container.exit_code == KILLED and container.memory_limit):
        return Ending.OUT_OF_MEMORY
    return Ending.PROGRAM_FAILED


def _last_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1] if lines else ""
