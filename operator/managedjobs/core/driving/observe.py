"""What the pods of an attempt say about its launch: how many are up, and what the others wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from managedjobs.core.driving.view import ChildJob, Container, Node, Pod, Refusal, RefusalKind, View
from managedjobs.core.pod_phase import PodPhase

SUSPENSION_IS_MEANT_AFTER = timedelta(seconds=2)
"""A queue such as Kueue suspends every new Job for a moment; only a longer suspension is worth a write."""
EVENTS_WORTH_READING_AFTER = timedelta(seconds=3)
"""So long the Job controller may take to create its pods before we ask why some are missing."""


class WaitKind(StrEnum):
    """What a pod that is not up waits for; the words are those of the description."""

    NOT_CREATED = "not created"
    UNSCHEDULABLE = "unschedulable"
    IMAGE = "image not pulled"
    CONFIG = "not configured"
    STARTING = "starting"
    PLACING = "being placed"
    CREATING = "being created"


WAITS_FOR_OTHERS = frozenset(
    {WaitKind.NOT_CREATED, WaitKind.UNSCHEDULABLE, WaitKind.IMAGE, WaitKind.CONFIG, WaitKind.STARTING}
)
"""Nothing but room, an image, a ConfigMap, a volume or quota is missing: such a launch can be parked (DESIGN 2)."""

_IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable"})
_CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
INVALID_IMAGE_NAME = "InvalidImageName"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsWaiting:
    """So many pods wait for the same kind of thing, the first of them in these words."""

    kind: WaitKind
    count: int
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How far an attempt has come up."""

    wanted: int
    started: int
    ready: int
    waiting: tuple[PodsWaiting, ...]
    quiet_since: datetime
    """The last time that anything about its pods changed for the better."""
    holding_since: datetime | None
    """Since when pods of it occupy nodes; None: none does."""
    main_node: str | None
    """The node of its first pod."""

    @property
    def up(self) -> bool:
        """Whether every index has started some container or has finished."""
        return self.started >= self.wanted

    @property
    def waits_only_for_others(self) -> bool:
        """Whether nothing that is missing is the job's own to do."""
        return bool(self.waiting) and all(w.kind in WAITS_FOR_OTHERS for w in self.waiting)


def pods_of(child: ChildJob, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """The newest pod of each index of the child Job, by index.

    Pods from before its last suspension are left out: they were taken away on purpose and say nothing.
    """
    newest: dict[int, Pod] = {}
    for pod in pods:
        if pod.owner_uid != child.uid or pod.index is None:
            continue
        if child.resumed_at is not None and pod.created < child.resumed_at:
            continue
        other = newest.get(pod.index)
        if other is None or (other.created, other.uid) < (pod.created, pod.uid):
            newest[pod.index] = pod
    return tuple(newest[index] for index in sorted(newest))


def observe_launch(child: ChildJob, pods: tuple[Pod, ...], wanted: int, refusal: Refusal | None) -> Launch:
    """Sum up the pods of the child Job (as `pods_of` gives them)."""
    started = {pod.index for pod in pods if pod.started} | child.completed_indexes
    missing = wanted - len({pod.index for pod in pods} | child.completed_indexes)
    waits = [_wait_of(pod) for pod in pods if pod.index not in started]
    if missing > 0:
        waits += [(_missing_kind(refusal), refusal.message if refusal else "")] * missing
    moments = [child.created, *(m for pod in pods for m in (pod.created, pod.scheduled_at) if m)]
    if child.resumed_at:
        moments.append(child.resumed_at)
    return Launch(
        wanted=wanted,
        started=len(started),
        ready=sum(pod.ready for pod in pods) + len(child.completed_indexes - {p.index for p in pods if p.ready}),
        waiting=_summed(waits),
        quiet_since=max(moments),
        holding_since=min((p.scheduled_at for p in pods if p.scheduled_at and not p.ended), default=None),
        main_node=next((pod.node for pod in pods if pod.node), None),
    )


def invalid_image(pods: Iterable[Pod]) -> tuple[Pod, Container] | None:
    """The first container whose image has an impossible name; nothing can cure that."""
    return next(((p, c) for p in pods for c in p.containers if c.waiting_reason == INVALID_IMAGE_NAME), None)


def events_due(view: View) -> datetime | None:
    """From when on the Events of the child Job are worth a read: only they say why pods are missing. None: never."""
    if view.job is None or view.child is None or view.child.suspended or view.child.over:
        return None
    known = {pod.index for pod in pods_of(view.child, view.pods)} | view.child.completed_indexes
    if len(known) >= view.job.spec.replicas:
        return None
    return max(view.child.created, view.child.resumed_at or view.child.created) + EVENTS_WORTH_READING_AFTER


def nodes_to_ask(view: View, now: datetime) -> frozenset[str]:
    """Nodes that may be lost, by the looks of their pods; only these are worth a read.

    The node lifecycle controller turns a pod's Ready condition to False and leaves its reason empty when the
    node falls silent; a kubelet always gives a reason. A pod that outlives its deletion is the other sign.
    """
    return frozenset(pod.node for pod in view.pods if pod.node and not pod.ended and _seems_lost(pod, now))


def lost_nodes(nodes: Mapping[str, Node], now: datetime, timeout: timedelta) -> frozenset[str]:
    """Nodes that are gone, or have been silent for `timeout`."""
    return frozenset(
        node.name
        for node in nodes.values()
        if not node.exists or (node.unreachable_since is not None and now - node.unreachable_since >= timeout)
    )


_SCHEDULER_VERDICT = re.compile(r"^(\d+)/(\d+) nodes are available: (.*?)\.?(?: preemption: .*)?$", re.DOTALL)
_CLAIMS_NOISE = re.compile(r"\.? no new claims to deallocate,?")
_COUNTED = re.compile(r"^\d+ ")


def shorten_scheduler_words(message: str) -> str:
    """The scheduler's verdict without its numbers: `insufficient nvidia.com/gpu (0 of 5 nodes fit)`."""
    message = _CLAIMS_NOISE.sub("", message)
    match = _SCHEDULER_VERDICT.match(message.strip())
    if match is None:
        return message.strip().rstrip(".")
    fitting, nodes, causes = match.groups()
    words = ", ".join(_COUNTED.sub("", cause.strip()) for cause in causes.split(", "))
    return f"{words[:1].lower()}{words[1:]} ({fitting} of {nodes} nodes fit)"


def _seems_lost(pod: Pod, now: datetime) -> bool:
    if pod.deletion_due_at is not None and now >= pod.deletion_due_at:
        return True
    return pod.phase is PodPhase.RUNNING and pod.unready_reason == ""


def _missing_kind(refusal: Refusal | None) -> WaitKind:
    if refusal is not None and refusal.kind is RefusalKind.QUOTA:
        return WaitKind.NOT_CREATED
    return WaitKind.CREATING


def _wait_of(pod: Pod) -> tuple[WaitKind, str]:
    if pod.node is None:
        if pod.scheduling_reason:
            return WaitKind.UNSCHEDULABLE, shorten_scheduler_words(pod.scheduling_message)
        return WaitKind.PLACING, ""
    for container in pod.containers:
        reason = container.waiting_reason or ""
        if reason in _IMAGE_REASONS:
            return WaitKind.IMAGE, container.waiting_message or reason
        if reason in _CONFIG_REASONS:
            return WaitKind.CONFIG, container.waiting_message or reason
    return WaitKind.STARTING, ""


def _summed(waits: list[tuple[WaitKind, str]]) -> tuple[PodsWaiting, ...]:
    """Count the waits by kind, in the order of `WaitKind`, with the first words of each."""
    out = []
    for kind in WaitKind:
        words = [text for k, text in waits if k is kind]
        if words:
            out.append(PodsWaiting(kind=kind, count=len(words), words=next((w for w in words if w), "")))
    return tuple(out)
