"""Jobs, pods, Services and nodes to values: the only reader of their fields."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from managedjobs.api.child_wire import (
    ChildMetadata,
    ContainerStatusWire,
    ContainerWire,
    EventWire,
    JobWire,
    NodeWire,
    PodWire,
    ServiceWire,
    StatusConditionWire,
)
from managedjobs.api.names import ATTEMPT_LABEL, JOB_UID_LABEL, MANAGED_JOB_KIND
from managedjobs.api.parse import known
from managedjobs.core.driving.view import ChildJob, Container, Node, Pod, Service
from managedjobs.core.pod_phase import PodPhase

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LOG_POLICY = "FallbackToLogsOnError"
_EPOCH = datetime.fromtimestamp(0, UTC)
_INDEXES_BELIEVED = 100_000
"""More indexes than a Job can have; a range past it is not spelled out."""


def parse_child_job(job: JobWire) -> ChildJob:
    """The value of a Job; who made it is part of the value."""
    meta = job.metadata
    owner = next((o for o in meta.owner_references or () if o.controller), None)
    conditions = {c.type: c for c in job.status.conditions or () if c.status == "True"}
    suspension = next((c for c in job.status.conditions or () if c.type == "Suspended"), None)
    failure = conditions.get("Failed") or conditions.get("FailureTarget")
    labels = meta.labels or {}
    return ChildJob(
        name=meta.name,
        uid=meta.uid,
        created=meta.creation_timestamp or _EPOCH,
        owner_uid=owner.uid if owner else None,
        owner_is_managed_job=owner is not None and owner.kind == MANAGED_JOB_KIND,
        job_uid=labels.get(JOB_UID_LABEL, ""),
        attempt=_number(labels.get(ATTEMPT_LABEL)),
        deleting=meta.deletion_timestamp is not None,
        suspended=bool(job.spec.suspend),
        suspended_at=_when(suspension, "True"),
        resumed_at=_when(suspension, "False"),
        queued=KUEUE_QUEUE_LABEL in labels,
        complete="Complete" in conditions or "SuccessCriteriaMet" in conditions,
        failed=failure is not None,
        failure_message=failure.message if failure else "",
        over="Complete" in conditions or "Failed" in conditions,
        completed_indexes=parse_indexes(job.status.completed_indexes),
    )


def parse_indexes(text: str) -> frozenset[int]:
    """The numbers of `1,3-5,7`; what can't be read is left out."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        start, end = _number(first), _number(last or first)
        if start is not None and end is not None and end - start < _INDEXES_BELIEVED:
            found.update(range(start, end + 1))
    return frozenset(found)


def parse_pod(pod: PodWire) -> Pod:
    """The value of a pod."""
    meta, status = pod.metadata, pod.status
    labels = meta.labels or {}
    conditions = {c.type: c for c in status.conditions}
    scheduled = conditions.get("PodScheduled")
    ready = conditions.get("Ready")
    disruption = conditions.get("DisruptionTarget")
    disrupted = disruption is not None and disruption.status == "True"
    unplaced = scheduled is not None and scheduled.status == "False"
    owner = next((o for o in meta.owner_references or () if o.controller), None)
    return Pod(
        name=meta.name,
        uid=meta.uid,
        created=meta.creation_timestamp or _EPOCH,
        job_uid=labels.get(JOB_UID_LABEL, ""),
        owner_uid=owner.uid if owner else None,
        index=_number(labels.get(INDEX_LABEL)),
        phase=known(PodPhase, status.phase, PodPhase.UNKNOWN),
        reason=status.reason,
        message=status.message,
        node=pod.spec.node_name or None,
        scheduled_at=_placed_at(pod, scheduled),
        scheduling_reason=scheduled.reason if unplaced and scheduled else "",
        scheduling_message=scheduled.message if unplaced and scheduled else "",
        ready=ready is not None and ready.status == "True",
        unready_reason=ready.reason if ready is not None and ready.status != "True" else None,
        disruption=disruption.reason if disrupted and disruption else None,
        disruption_message=disruption.message if disrupted and disruption else "",
        deletion_asked_at=_deletion_asked_at(meta),
        deletion_due_at=meta.deletion_timestamp,
        containers=_containers(pod),
    )


def parse_service(service: ServiceWire) -> Service:
    """The value of a Service."""
    meta = service.metadata
    owner = next((o for o in meta.owner_references or () if o.controller), None)
    return Service(
        name=meta.name, owner_uid=owner.uid if owner else None, deleting=meta.deletion_timestamp is not None
    )


def parse_node(node: NodeWire) -> Node:
    """The value of a node: since when its kubelet is silent (its condition Ready is Unknown)."""
    ready = next((c for c in node.status.conditions if c.type == "Ready"), None)
    return Node(name=node.metadata.name, unreachable_since=_when(ready, "Unknown"))


_COMBINED = "(combined from similar events): "
_CREATING = "Error creating: "


def newest_failed_create(events: list[EventWire]) -> str | None:
    """What the Job controller last said about a pod that it could not create; None: nothing."""
    failed = [event for event in events if event.reason == "FailedCreate" and event.note]
    if not failed:
        return None
    return max(failed, key=_told_at).note.removeprefix(_COMBINED).removeprefix(_CREATING)


def _told_at(event: EventWire) -> datetime:
    return event.event_time or event.deprecated_last_timestamp or event.metadata.creation_timestamp or _EPOCH


def _placed_at(pod: PodWire, scheduled: StatusConditionWire | None) -> datetime | None:
    if not pod.spec.node_name:
        return None
    return _when(scheduled, "True") or pod.metadata.creation_timestamp


def _deletion_asked_at(meta: ChildMetadata) -> datetime | None:
    if meta.deletion_timestamp is None:
        return None
    return meta.deletion_timestamp - timedelta(seconds=meta.deletion_grace_period_seconds or 0)


def _containers(pod: PodWire) -> tuple[Container, ...]:
    spec, status = pod.spec, pod.status
    started = {s.name: s for s in (*status.init_container_statuses, *status.container_statuses)}
    regular = [_container(c, started.get(c.name), init=False) for c in spec.containers]
    return (*regular, *(_container(c, started.get(c.name), init=True) for c in spec.init_containers))


def _container(asked: ContainerWire, status: ContainerStatusWire | None, *, init: bool) -> Container:
    limit = (asked.resources.limits or {}).get("memory")
    state = status.state if status else None
    waiting = state.waiting if state else None
    ended = state.terminated if state else None
    return Container(
        name=asked.name,
        init=init,
        sidecar=init and asked.restart_policy == "Always",
        waiting_reason=waiting.reason if waiting else None,
        waiting_message=waiting.message if waiting else "",
        running=state is not None and state.running is not None,
        exit_code=ended.exit_code if ended else None,
        end_reason=ended.reason if ended else "",
        message=ended.message if ended else "",
        ended_at=ended.finished_at if ended else None,
        memory_limit=str(limit) if limit is not None else None,
        reports_log=asked.termination_message_policy == LOG_POLICY,
    )


def _when(condition: StatusConditionWire | None, status: str) -> datetime | None:
    if condition is None or condition.status != status:
        return None
    return condition.last_transition_time


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
