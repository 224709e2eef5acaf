"""The objects that a controller watches, as they travel: of each only the fields that decisions need."""

from __future__ import annotations

from datetime import datetime

from managedjobs.api.wire import ManagedJobWire, SpecWire, Wire


class OwnerWire(Wire, frozen=True):
    uid: str = ""
    kind: str = ""
    api_version: str = ""
    controller: bool = False


class ChildMetadata(Wire, frozen=True):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    owner_references: tuple[OwnerWire, ...] | None = None


class StatusConditionWire(Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class JobSpecWire(Wire, frozen=True):
    suspend: bool | None = None


class JobStatusWire(Wire, frozen=True):
    conditions: tuple[StatusConditionWire, ...] | None = None
    completed_indexes: str = ""


class JobWire(Wire, frozen=True):
    """A batch/v1 Job."""

    metadata: ChildMetadata
    spec: JobSpecWire = JobSpecWire()
    status: JobStatusWire = JobStatusWire()


class WaitingWire(Wire, frozen=True):
    reason: str = ""
    message: str = ""


class TerminatedWire(Wire, frozen=True):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class ContainerStateWire(Wire, frozen=True):
    waiting: WaitingWire | None = None
    running: dict[str, object] | None = None
    terminated: TerminatedWire | None = None


class ContainerStatusWire(Wire, frozen=True):
    name: str = ""
    state: ContainerStateWire = ContainerStateWire()


class ResourcesWire(Wire, frozen=True):
    limits: dict[str, str | int | float] | None = None


class ContainerWire(Wire, frozen=True):
    name: str
    restart_policy: str = ""
    termination_message_policy: str = ""
    resources: ResourcesWire = ResourcesWire()


class PodSpecWire(Wire, frozen=True):
    node_name: str | None = None
    containers: tuple[ContainerWire, ...] = ()
    init_containers: tuple[ContainerWire, ...] = ()


class PodStatusWire(Wire, frozen=True):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: tuple[StatusConditionWire, ...] = ()
    container_statuses: tuple[ContainerStatusWire, ...] = ()
    init_container_statuses: tuple[ContainerStatusWire, ...] = ()


class PodWire(Wire, frozen=True):
    """A pod of a child Job."""

    metadata: ChildMetadata
    spec: PodSpecWire = PodSpecWire()
    status: PodStatusWire = PodStatusWire()


class ServiceWire(Wire, frozen=True):
    """A Service: only whose it is."""

    metadata: ChildMetadata


class NodeStatusWire(Wire, frozen=True):
    conditions: tuple[StatusConditionWire, ...] = ()


class NodeWire(Wire, frozen=True):
    """A node: only whether its kubelet answers."""

    metadata: ChildMetadata
    status: NodeStatusWire = NodeStatusWire()


class EventWire(Wire, frozen=True):
    """An Event about a child Job."""

    metadata: ChildMetadata
    type: str = ""
    reason: str = ""
    note: str = ""
    event_time: datetime | None = None
    deprecated_last_timestamp: datetime | None = None


class DrivenSpecWire(SpecWire, frozen=True):
    """`spec` with what pods are made of; it is handed through as it is, so it is not typed any further."""

    template: dict[str, object] | None = None
    image: str | None = None
    entrypoint: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[dict[str, object]] | None = None
    resources: dict[str, object] | None = None


class DrivenJobWire(ManagedJobWire, frozen=True):
    """A ManagedJob as its own controller reads it: with the pod template."""

    spec: DrivenSpecWire = DrivenSpecWire()
