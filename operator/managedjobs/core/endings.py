"""How an attempt ended: the closed set of endings, and whose doing each is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from managedjobs.core.reasons import Reason


class Ending(StrEnum):
    """One word in `status.attempts[].ending`; the sentences are in `MEANING`."""

    SUCCEEDED = "Succeeded"
    # the program's own doing
    PROGRAM_FAILED = "ProgramFailed"
    OUT_OF_MEMORY = "OutOfMemory"
    POD_DEADLINE = "PodDeadlineExceeded"
    # not its doing
    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    NODE_LOST = "NodeLost"
    NODE_SHUTDOWN = "NodeShutdown"
    REJECTED = "RejectedByNode"
    DISRUPTED = "Disrupted"
    POD_DELETED = "PodDeleted"
    CHILD_JOB_DELETED = "ChildJobDeleted"
    NOT_STARTED = "NotStarted"
    NAME_TAKEN = "NameTaken"
    QUOTA_EXCEEDED = "QuotaExceeded"
    # nothing that another attempt could cure
    INVALID_TEMPLATE = "InvalidTemplate"
    NOT_ALLOWED = "NotAllowed"
    INVALID_IMAGE_NAME = "InvalidImageName"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    # what was asked for
    CANCELLED = "Cancelled"
    SUSPENDED = "Suspended"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    QUEUE_TIMEOUT = "QueueTimeout"
    CONTROLLER_FAILED = "ControllerFailed"


MEANING: dict[Ending, str] = {
    Ending.SUCCEEDED: "Every pod ended with exit code 0.",
    Ending.PROGRAM_FAILED: "A container ended with another exit code than 0.",
    Ending.OUT_OF_MEMORY: "A container was killed because it used more memory than its limit.",
    Ending.POD_DEADLINE: "A pod ran longer than its own activeDeadlineSeconds.",
    Ending.PREEMPTED: "A pod had to make room for one of higher priority.",
    Ending.EVICTED: "A pod was evicted, by the eviction API or because its node ran short of something.",
    Ending.NODE_LOST: "The node of a pod could not be reached any more, or was removed.",
    Ending.NODE_SHUTDOWN: "The node of a pod was shut down.",
    Ending.REJECTED: "The node that a pod was placed on would not take it.",
    Ending.DISRUPTED: "A pod was disrupted by the cluster in a way that this version has no word for.",
    Ending.POD_DELETED: "A pod was deleted by someone else.",
    Ending.CHILD_JOB_DELETED: "The child Job was deleted by someone else.",
    Ending.NOT_STARTED: "The pods were not up within spec.launchTimeoutSeconds.",
    Ending.NAME_TAKEN: "A Job or Service that is not ours has the name that the attempt needs.",
    Ending.QUOTA_EXCEEDED: "A quota of the namespace did not allow the child Job.",
    Ending.INVALID_TEMPLATE: "The API server refused the child Job as invalid.",
    Ending.NOT_ALLOWED: "A right or a policy forbids the child Job or its pods.",
    Ending.INVALID_IMAGE_NAME: "An image name is not a valid name.",
    Ending.NAMESPACE_TERMINATING: "The namespace is being deleted.",
    Ending.CANCELLED: "The job was cancelled.",
    Ending.SUSPENDED: "The job was suspended.",
    Ending.DEADLINE_EXCEEDED: "The job ran longer than spec.activeDeadlineSeconds.",
    Ending.QUEUE_TIMEOUT: "The job was not up within spec.queueTimeoutSeconds.",
    Ending.CONTROLLER_FAILED: "The job's controller failed too often by its own fault; the operator stopped the pods.",
}

PROGRAM_ENDINGS = frozenset({Ending.PROGRAM_FAILED, Ending.OUT_OF_MEMORY, Ending.POD_DEADLINE})
"""The program's own fault: counted in `failureCount` (DESIGN 4)."""

FATAL_ENDINGS: dict[Ending, Reason] = {
    Ending.INVALID_TEMPLATE: Reason.INVALID_TEMPLATE,
    Ending.NOT_ALLOWED: Reason.NOT_ALLOWED,
    Ending.INVALID_IMAGE_NAME: Reason.INVALID_IMAGE_NAME,
    Ending.NAMESPACE_TERMINATING: Reason.NAMESPACE_TERMINATING,
    Ending.DEADLINE_EXCEEDED: Reason.DEADLINE_EXCEEDED,
    Ending.QUEUE_TIMEOUT: Reason.QUEUE_TIMEOUT,
}
"""Endings after which no attempt follows, and the reason that the job then has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How an attempt ended, with all that the sentence about it needs."""

    ending: Ending
    exit_code: int | None = None
    index: int | None = None
    """The pod that it happened to; None: not one pod."""
    container: str | None = None
    """The container, where it is not the main one."""
    node: str | None = None
    detail: str = ""
    """What was refused, or whose doing it was, in the words of Kubernetes."""
    last_line: str = ""
    memory_limit: str | None = None
