"""Why a job is where it is: the closed set of reasons, each with the sentence that explains it."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """One CamelCase word in `status.reason` and in the conditions; the sentences are in `MEANING`."""

    # waiting for the first time, or again after a suspension
    QUEUED = "Queued"
    WAITING_FOR_LAUNCH_SLOT = "WaitingForLaunchSlot"
    WAITING_FOR_RUN_SLOT = "WaitingForRunSlot"
    NAMESPACE_AT_CAP = "NamespaceAtCap"
    POOL_NOT_FOUND = "PoolNotFound"
    POOL_PAUSED = "PoolPaused"
    POOL_WITHOUT_NODES = "PoolWithoutNodes"
    CAPACITY_UNAVAILABLE = "CapacityUnavailable"
    STARTING = "Starting"
    # launching
    LAUNCHING = "Launching"
    PREDECESSOR_ENDING = "PredecessorEnding"
    NAME_TAKEN = "NameTaken"
    PARKED = "Parked"
    # live
    RUNNING = "Running"
    BACKOFF = "Backoff"
    RECOVERING = "Recovering"
    CANCELLING = "Cancelling"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    # the end
    SUCCEEDED = "Succeeded"
    CANCELLED = "Cancelled"
    PROGRAM_FAILED = "ProgramFailed"
    OUT_OF_MEMORY = "OutOfMemory"
    INVALID_TEMPLATE = "InvalidTemplate"
    NOT_ALLOWED = "NotAllowed"
    INVALID_IMAGE_NAME = "InvalidImageName"
    LAUNCH_ATTEMPTS_EXHAUSTED = "LaunchAttemptsExhausted"
    QUEUE_TIMEOUT = "QueueTimeout"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    CONTROLLER_FAILED = "ControllerFailed"
    NOT_SUPPORTED = "NotSupported"


MEANING: dict[Reason, str] = {
    Reason.QUEUED: "The operator has not looked at the job yet.",
    Reason.WAITING_FOR_LAUNCH_SLOT: "All launch slots of the pool are in use; the job starts when one is free.",
    Reason.WAITING_FOR_RUN_SLOT: "All run slots of the pool are in use; the job starts when one is free.",
    Reason.NAMESPACE_AT_CAP: "The job's namespace has as many jobs as the pool allows it.",
    Reason.POOL_NOT_FOUND: "The ControllerPool that the job names does not exist; create it, or use another.",
    Reason.POOL_PAUSED: "The ControllerPool is paused: nothing new is admitted until it is resumed.",
    Reason.POOL_WITHOUT_NODES: "No node counts for the ControllerPool, so it has no slots.",
    Reason.CAPACITY_UNAVAILABLE: "Controller pods of the pool can't be scheduled; admission goes on when one fits.",
    Reason.STARTING: "The job is claimed; its controller pod has not started yet.",
    Reason.LAUNCHING: "The pods of the attempt are being started.",
    Reason.PREDECESSOR_ENDING: "Pods of an earlier job of the same name are still ending.",
    Reason.NAME_TAKEN: "A Job or Service that is not ours has the name that this job needs.",
    Reason.PARKED: "The launch waits only for others (room, an image, a volume, quota); it holds no launch slot.",
    Reason.RUNNING: "The pods of the attempt are up.",
    Reason.BACKOFF: "The last attempt did not start or was lost; the next one waits for its time.",
    Reason.RECOVERING: "The last attempt was lost; the next one waits for a launch slot.",
    Reason.CANCELLING: "The job was cancelled; its pods are ending.",
    Reason.SUSPENDING: "The job was suspended; its pods are ending.",
    Reason.SUSPENDED: "The job is suspended; set spec.suspend to false to queue it again.",
    Reason.SUCCEEDED: "The program ended with exit code 0 in every pod.",
    Reason.CANCELLED: "The job was cancelled.",
    Reason.PROGRAM_FAILED: "The program failed and no restart is left.",
    Reason.OUT_OF_MEMORY: "The program needed more memory than its limit, and no restart is left.",
    Reason.INVALID_TEMPLATE: "The API server refuses the job's pods; no attempt could ever start.",
    Reason.NOT_ALLOWED: "A right or a policy forbids the job's pods; no attempt could ever start.",
    Reason.INVALID_IMAGE_NAME: "An image name of the job is not a valid name; no attempt could ever start.",
    Reason.LAUNCH_ATTEMPTS_EXHAUSTED: "The job did not start in spec.recovery.maxLaunchAttempts attempts in a row.",
    Reason.QUEUE_TIMEOUT: "The job was not up within spec.queueTimeoutSeconds.",
    Reason.DEADLINE_EXCEEDED: "The job was not finished within spec.activeDeadlineSeconds.",
    Reason.NAMESPACE_TERMINATING: "The job's namespace is being deleted.",
    Reason.CONTROLLER_FAILED: "The job's controller failed too often by its own fault; this is a bug worth reporting.",
    Reason.NOT_SUPPORTED: "The job uses a field that this version of the operator does not carry out yet.",
}
