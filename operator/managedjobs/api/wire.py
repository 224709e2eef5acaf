"""A ManagedJob as it travels: typed, partial shapes, decoded straight from the API server's bytes."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of the shapes: camelCase names, unknown fields ignored."""


class Metadata(Wire, frozen=True):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 1
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class BackoffWire(Wire, frozen=True):
    initial_seconds: int = 60
    factor_percent: int = 160
    max_seconds: int = 300
    jitter_percent: int = 40


class NodeLostWire(Wire, frozen=True):
    timeout_seconds: int = 60
    policy: str = "Relaunch"


class RecoveryWire(Wire, frozen=True):
    strategy: str = "Relaunch"
    max_restarts_on_errors: int = 0
    recover_on_exit_codes: list[int] = []
    backoff: BackoffWire = BackoffWire()
    max_launch_attempts: int | None = None
    node_lost: NodeLostWire = NodeLostWire()


class SpecWire(Wire, frozen=True):
    replicas: int = 1
    priority: int = 0
    controller_pool_name: str = "default"
    suspend: bool = False
    cancel: bool = False
    managed_by: str | None = None
    recovery: RecoveryWire = RecoveryWire()
    launch_timeout_seconds: int = 1800
    queue_timeout_seconds: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    tasks: list[object] | None = None
    runtime_env: dict[str, object] | None = None


class ConditionWire(Wire, frozen=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class ScheduleWire(Wire, frozen=True):
    state: str = "Waiting"
    position: int | None = None
    queue_time: datetime | None = None
    next_retry_time: datetime | None = None
    leader_term: int | None = None


class ControllerWire(Wire, frozen=True):
    pod_name: str | None = None
    pod_uid: str = msgspec.field(name="podUID", default="")
    node_name: str | None = None
    version: str | None = None
    failures: int = 0
    last_failure_time: datetime | None = None


class CurrentAttemptWire(Wire, frozen=True):
    number: int = 0
    job_name: str | None = None
    job_uid: str | None = msgspec.field(name="jobUID", default=None)
    start_time: datetime | None = None
    up_time: datetime | None = None
    pods_ready: int = 0
    pods_wanted: int = 1


class AttemptWire(Wire, frozen=True):
    number: int
    start_time: datetime | None = None
    end_time: datetime | None = None
    ending: str | None = None
    exit_code: int | None = None
    node_name: str | None = None
    job_name: str | None = None
    message: str | None = None


class StatusWire(Wire, frozen=True):
    phase: str = "Pending"
    reason: str = "Queued"
    description: str = ""
    observed_generation: int | None = None
    conditions: list[ConditionWire] = []
    schedule: ScheduleWire | None = None
    controller: ControllerWire | None = None
    current_attempt: CurrentAttemptWire | None = None
    attempts: list[AttemptWire] = []
    attempt_count: int = 0
    failure_count: int = 0
    recovery_count: int = 0
    launch_failure_count: int = 0
    start_time: datetime | None = None
    first_up_time: datetime | None = None
    completion_time: datetime | None = None
    running_seconds: int = 0
    exit_code: int | None = None
    logs: str | None = None


class ManagedJobWire(Wire, frozen=True):
    """What scheduling needs of a ManagedJob: no template is decoded, so 50,000 of them stay small."""

    metadata: Metadata
    spec: SpecWire = SpecWire()
    status: StatusWire = StatusWire()
