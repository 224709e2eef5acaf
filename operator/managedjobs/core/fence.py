"""The values of the fence `status.controller.podUID`: who alone may write a job's status."""

from __future__ import annotations

from managedjobs.core.model import ControllerRef, JobStatus

_OPERATOR = "operator/"
_REVOKED = "revoked:"


def operator_fence(term: int) -> str:
    """The fence value by which the operator of a leader term takes a job over itself."""
    return f"{_OPERATOR}{term}"


def revoked_fence(pod_uid: str) -> str:
    """The fence value that shuts out a claim's pod which ended before its takeover."""
    return f"{_REVOKED}{pod_uid}"


def is_operator_fence(fence: str) -> bool:
    """Whether an operator, of any term, has taken the job over to end it."""
    return fence.startswith(_OPERATOR)


def moved_fence(status: JobStatus, fence: str) -> ControllerRef:
    """`status.controller` with the fence moved; the count of the controllers' own failures stays."""
    before = status.controller
    return ControllerRef(
        pod_uid=fence,
        failures=before.failures if before else 0,
        last_failure_time=before.last_failure_time if before else None,
    )
