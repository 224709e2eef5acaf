"""The values that decisions are made on: a job as the API server shows it, and what it asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from managedjobs.core.phases import Phase, ScheduleState


class JobKey(NamedTuple):
    """The name of one ManagedJob."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long to wait before the next attempt: grows by a factor, capped, spread by a jitter."""

    initial: timedelta = timedelta(seconds=60)
    factor_percent: int = 160
    maximum: timedelta = timedelta(seconds=300)
    jitter_percent: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost:
    """What to do about a pod on a node that can't be reached."""

    timeout: timedelta = timedelta(seconds=60)
    relaunch: bool = True
    """False is the policy `Wait`: never risk two pods of one index at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPolicy:
    """`spec.recovery`: which endings lead to another attempt."""

    strategy: str = "Relaunch"
    max_restarts_on_errors: int = 0
    """Failures of the program that are forgiven: 3 allows 4 failing attempts."""
    recover_on_exit_codes: frozenset[int] = frozenset()
    backoff: Backoff = Backoff()
    max_launch_attempts: int | None = None
    """Attempts in a row that may fail to come up; None: for ever."""
    node_lost: NodeLost = NodeLost()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What scheduling and recovery need of `spec`; the pod template stays with whoever builds pods."""

    replicas: int = 1
    priority: int = 0
    pool: str = "default"
    suspend: bool = False
    cancel: bool = False
    managed_by: str | None = None
    """Another controller's name; None: the job is ours."""
    recovery: RecoveryPolicy = RecoveryPolicy()
    launch_timeout: timedelta = timedelta(seconds=1800)
    queue_timeout: timedelta | None = None
    active_deadline: timedelta | None = None
    ttl_after_finished: timedelta | None = None
    unsupported: tuple[str, ...] = ()
    """Fields that the schema knows and this version does not carry out, as paths such as `spec.tasks`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One entry of `status.conditions`."""

    type: str
    status: str
    """True, False or Unknown."""
    reason: str
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`status.schedule`."""

    state: ScheduleState = ScheduleState.WAITING
    position: int | None = None
    queue_time: datetime | None = None
    """When the present wait began; None: when the object was created."""
    next_retry_time: datetime | None = None
    leader_term: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRef:
    """`status.controller`: who may write. `pod_uid` is the fence."""

    pod_uid: str
    pod_name: str | None = None
    node_name: str | None = None
    version: str | None = None
    failures: int = 0
    """Controller exits that were its own fault, counted against its budget."""
    last_failure_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAttempt:
    """`status.currentAttempt`: the attempt that is launching or running, or that ended last."""

    number: int
    job_name: str | None = None
    job_uid: str | None = None
    start_time: datetime | None = None
    up_time: datetime | None = None
    pods_ready: int = 0
    pods_wanted: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One entry of `status.attempts`; `ending` is None while the attempt goes on."""

    number: int
    start_time: datetime | None = None
    end_time: datetime | None = None
    ending: str | None = None
    exit_code: int | None = None
    node_name: str | None = None
    job_name: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """`status` of a ManagedJob. The defaults are those of a job that nobody has looked at yet."""

    phase: Phase = Phase.PENDING
    reason: str = "Queued"
    description: str = ""
    observed_generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    schedule: Schedule = Schedule()
    controller: ControllerRef | None = None
    current_attempt: CurrentAttempt | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    attempt_count: int = 0
    failure_count: int = 0
    recovery_count: int = 0
    launch_failure_count: int = 0
    """Attempts in a row that ended before they were up."""
    start_time: datetime | None = None
    first_up_time: datetime | None = None
    completion_time: datetime | None = None
    running_seconds: int = 0
    exit_code: int | None = None
    logs: str | None = None

    @property
    def state(self) -> ScheduleState:
        """Where the job stands with the scheduler."""
        return self.schedule.state

    @property
    def fence(self) -> str:
        """Who may write: the uid of a controller pod, `operator/<term>` or `revoked:<uid>`; "" before any takeover."""
        return self.controller.pod_uid if self.controller else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A ManagedJob as the API server showed it at `resource_version`."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int = 1
    created: datetime
    deleting: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def key(self) -> JobKey:
        """The job's name."""
        return JobKey(self.namespace, self.name)

    @property
    def queue_time(self) -> datetime:
        """When the job's present wait in the queue began."""
        return self.status.schedule.queue_time or self.created
