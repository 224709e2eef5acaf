"""What a controller sees of its job at one moment, and who the controller is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from managedjobs.core.model import Job
from managedjobs.core.pod_phase import PodPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a pod: what was asked for, and how it is doing."""

    name: str
    init: bool = False
    """Whether it is an init container (a sidecar included)."""
    sidecar: bool = False
    """Whether it is an init container that runs beside the others (`restartPolicy: Always`)."""
    waiting_reason: str | None = None
    waiting_message: str = ""
    running: bool = False
    exit_code: int | None = None
    """None: it has not ended."""
    end_reason: str = ""
    """Kubernetes' word for the end: Error, OOMKilled, Completed, ContainerCannotRun…"""
    message: str = ""
    """Its termination message: what it wrote there, or the end of its log."""
    ended_at: datetime | None = None
    memory_limit: str | None = None
    reports_log: bool = True
    """Whether an empty message means an empty log (`terminationMessagePolicy: FallbackToLogsOnError`)."""

    @property
    def started(self) -> bool:
        """Whether it runs or has run."""
        return self.running or self.exit_code is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod that carries the job's name."""

    name: str
    uid: str
    created: datetime
    job_uid: str = ""
    """The ManagedJob that it belongs to, by its label; "": of something else."""
    owner_uid: str | None = None
    """The Job that made it; None: nobody did, or it was orphaned."""
    index: int | None = None
    """Its completion index; None: it has none."""
    phase: PodPhase = PodPhase.PENDING
    reason: str = ""
    """`status.reason`: Evicted, NodeLost, DeadlineExceeded…"""
    message: str = ""
    node: str | None = None
    scheduled_at: datetime | None = None
    """When it got its node; None: it has none."""
    scheduling_reason: str = ""
    """Why it has no node: Unschedulable, SchedulingGated; "": not known yet, or it has one."""
    scheduling_message: str = ""
    ready: bool = False
    unready_reason: str | None = None
    """Reason of the Ready condition when that is False; None: there is no such condition, or it is True."""
    disruption: str | None = None
    """Reason of the condition DisruptionTarget, when that is True."""
    disruption_message: str = ""
    deletion_asked_at: datetime | None = None
    """When someone deleted it; None: nobody did."""
    deletion_due_at: datetime | None = None
    """When its grace period is over; set together with `deletion_asked_at`."""
    containers: tuple[Container, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether none of its containers can run any more."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def failing(self) -> bool:
        """Whether it has failed, or is bound to, as its kubelet is about to say: no container of it runs on."""
        if self.phase is PodPhase.FAILED:
            return True
        if any(c.init and not c.sidecar and c.exit_code for c in self.containers):
            return True
        regular = [c for c in self.containers if not c.init]
        return all(c.exit_code is not None for c in regular) and any(c.exit_code for c in regular)

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted."""
        return self.deletion_asked_at is not None

    @property
    def started(self) -> bool:
        """Whether some container of it, an init container included, has started."""
        return self.phase in (PodPhase.RUNNING, PodPhase.SUCCEEDED) or any(c.started for c in self.containers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildJob:
    """The Job that has the job's own name, whoever made it."""

    name: str
    uid: str
    created: datetime
    owner_uid: str | None = None
    """The controlling owner's uid; None: it has no owner."""
    owner_is_managed_job: bool = False
    job_uid: str = ""
    """The ManagedJob that it was made for, by its label."""
    attempt: int | None = None
    deleting: bool = False
    suspended: bool = False
    """`spec.suspend`, by Kueue, by hand, or by us."""
    suspended_at: datetime | None = None
    resumed_at: datetime | None = None
    queued: bool = False
    """Whether a queue such as Kueue suspends and resumes it."""
    complete: bool = False
    """Whether every index succeeded."""
    failed: bool = False
    """Whether the Job controller gave it up; it ends the remaining pods by itself."""
    failure_message: str = ""
    over: bool = False
    """Whether the Job is finished: no pod of it runs any more."""
    completed_indexes: frozenset[int] = frozenset()

    @property
    def held(self) -> bool:
        """Whether it waits for somebody to resume it; one that has failed is never resumed."""
        return self.suspended and not self.failed

    def made_for(self, job_uid: str) -> bool:
        """Whether it is the child Job of that ManagedJob, also after it was orphaned."""
        return bool(job_uid) and job_uid in (self.owner_uid, self.job_uid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The Service that has the name of the job's headless Service."""

    name: str
    owner_uid: str | None = None
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node that a pod of the job seems to have lost."""

    name: str
    exists: bool = True
    unreachable_since: datetime | None = None
    """Since when its kubelet is silent; None: it answers."""


class RefusalKind(StrEnum):
    """What a refusal by the API server means for the attempt."""

    INVALID = "Invalid"
    NOT_ALLOWED = "NotAllowed"
    QUOTA = "Quota"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    TEMPORARY = "Temporary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal to create the child Job, its Service or its pods."""

    kind: RefusalKind
    message: str
    attempt: int
    """The attempt that it concerns; a later one asks again."""
    retry_at: datetime | None = None
    """When a temporary one is asked again; None: it is not ours to repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that a decision of a controller is made on."""

    job: Job | None
    """None: it is gone, or another object has its name. Never: it could not be read."""
    child: ChildJob | None = None
    pods: tuple[Pod, ...] = ()
    """Every pod of the job's name, of any attempt and any owner."""
    service: Service | None = None
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """Answers about the nodes of `observe.nodes_to_ask`; one that is missing is unknown."""
    fresh: bool = False
    """Whether child, pods and service were listed live after the job was read, and not taken from a cache."""
    refusal: Refusal | None = None
    """What the API server last answered to a create for this attempt, or said in an Event about its pods."""
    last_lines: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Last line of the log by (pod uid, container); "": there is none, or it could not be read."""
    texts_after: datetime | None = None
    """Before this moment a write that changes only words waits."""
    jitter: float = 0.0
    """A number between -1 and 1, drawn for this pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Which controller decides."""

    pod_uid: str
    pod_name: str
    job_uid: str
    node_name: str | None = None
    predecessor: str = ""
    """The fence value that it takes over from; "": of a job that nobody has taken over."""
    version: str | None = None
    keep_jobs: bool = True
    """Whether the last attempt's child Job stays after the end, for its logs."""
