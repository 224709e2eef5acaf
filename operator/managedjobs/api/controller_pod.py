"""A controller pod as it travels, and its value."""

from __future__ import annotations

from datetime import datetime

import msgspec

from managedjobs.api.names import (
    JOB_NAME_LABEL,
    JOB_NAMESPACE_LABEL,
    JOB_UID_LABEL,
    POOL_LABEL,
    PREDECESSOR_ANNOTATION,
)
from managedjobs.api.parse import known
from managedjobs.api.wire import Metadata, Wire
from managedjobs.core.model import JobKey
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.text import bounded

_NOT_ITS_FAULT = frozenset({"ContainerStatusUnknown", "Unknown"})
"""Reasons that the kubelet gives to a container that went with its node."""
_QUIET_WAITS = frozenset({"ContainerCreating", "PodInitializing"})
_TROUBLE_LIMIT = 300


class TerminatedWire(Wire, frozen=True):
    exit_code: int = 0
    reason: str = ""
    finished_at: datetime | None = None


class WaitingWire(Wire, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerStateWire(Wire, frozen=True):
    waiting: WaitingWire | None = None
    terminated: TerminatedWire | None = None


class ContainerStatusWire(Wire, frozen=True):
    name: str = ""
    state: ContainerStateWire = ContainerStateWire()
    last_state: ContainerStateWire = ContainerStateWire()


class PodConditionWire(Wire, frozen=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


class PodSpecWire(Wire, frozen=True):
    node_name: str | None = None


class PodStatusWire(Wire, frozen=True):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[PodConditionWire, ...] = ()
    container_statuses: tuple[ContainerStatusWire, ...] = ()


class ControllerPodWire(Wire, frozen=True):
    """What scheduling needs of a controller pod."""

    metadata: Metadata
    spec: PodSpecWire = PodSpecWire()
    status: PodStatusWire = msgspec.field(default_factory=PodStatusWire)


def parse_controller_pod(pod: ControllerPodWire) -> ControllerPod | None:
    """The value of a controller pod; None: it does not say which job it is for, so it is none of ours."""
    meta, status = pod.metadata, pod.status
    labels, annotations = meta.labels or {}, meta.annotations or {}
    job_uid = labels.get(JOB_UID_LABEL)
    if not job_uid or meta.creation_timestamp is None:
        return None
    placed = next((c for c in status.conditions if c.type == "PodScheduled"), None)
    is_unschedulable = placed is not None and placed.status == "False" and placed.reason == "Unschedulable"
    return ControllerPod(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        job_uid=job_uid,
        job=JobKey(labels.get(JOB_NAMESPACE_LABEL, ""), labels.get(JOB_NAME_LABEL, "")),
        pool=labels.get(POOL_LABEL, ""),
        predecessor=annotations.get(PREDECESSOR_ANNOTATION, ""),
        phase=known(PodPhase, status.phase, PodPhase.UNKNOWN),
        created=meta.creation_timestamp,
        node_name=pod.spec.node_name,
        scheduled=pod.spec.node_name is not None,
        unschedulable=bounded(placed.message, _TROUBLE_LIMIT) if placed is not None and is_unschedulable else None,
        waiting=_waiting(status),
        deletion_time=meta.deletion_timestamp,
        failed_at=_failed_at(pod),
    )


def _waiting(status: PodStatusWire) -> str | None:
    for container in status.container_statuses:
        waiting = container.state.waiting
        if waiting is not None and waiting.reason not in _QUIET_WAITS:
            text = f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
            return bounded(text, _TROUBLE_LIMIT)
    return None


def _failed_at(pod: ControllerPodWire) -> datetime | None:
    """When its program last exited by its own fault; what an eviction, a shutdown or a deletion did is not counted."""
    states = [container.last_state for container in pod.status.container_statuses]
    is_disrupted = bool(pod.status.reason) or any(
        c.type == "DisruptionTarget" and c.status == "True" for c in pod.status.conditions
    )
    if not is_disrupted and pod.metadata.deletion_timestamp is None:
        states += [container.state for container in pod.status.container_statuses]
    moments = [
        state.terminated.finished_at
        for state in states
        if state.terminated is not None
        and state.terminated.exit_code != 0
        and state.terminated.reason not in _NOT_ITS_FAULT
        and state.terminated.finished_at is not None
    ]
    return max(moments, default=None)
