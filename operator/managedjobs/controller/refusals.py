"""What a refusal by the API server means: time may cure it, or nothing can."""

from __future__ import annotations

from datetime import datetime

from managedjobs.core.driving.view import Refusal, RefusalKind
from managedjobs.kube.errors import ApiError, BadRequest, Forbidden, Invalid

_QUOTA = "exceeded quota"
_TERMINATING = "because it is being terminated"
_FORBIDDEN = "is forbidden: "
_INVALID = " is invalid: "
_MAY_COME = ("error looking up service account", "status unknown for quota", "no API token found")
"""Refusals of a pod that end when somebody creates what is missing."""


def refusal_of_create(error: ApiError, attempt: int, retry_at: datetime) -> Refusal:
    """What the server's answer to a create means for the attempt.

    400 and 422 can't be cured, nor can a missing right; a full quota, a busy server and a broken webhook may be.
    """
    kind = RefusalKind.TEMPORARY
    if isinstance(error, BadRequest | Invalid):
        kind = RefusalKind.INVALID
    elif isinstance(error, Forbidden):
        kind = _forbidden(error)
    return Refusal(
        kind=kind,
        message=error.message,
        attempt=attempt,
        retry_at=retry_at if kind is RefusalKind.TEMPORARY else None,
    )


def refusal_of_event(message: str, attempt: int) -> Refusal:
    """What a FailedCreate Event of the Job controller means: it tries again, so only what no try can cure is final."""
    kind = RefusalKind.TEMPORARY
    if _QUOTA in message:
        kind = RefusalKind.QUOTA
    elif _FORBIDDEN in message and _TERMINATING not in message and not any(word in message for word in _MAY_COME):
        kind = RefusalKind.NOT_ALLOWED
    elif _INVALID in message:
        kind = RefusalKind.INVALID
    return Refusal(kind=kind, message=message, attempt=attempt)


def _forbidden(error: Forbidden) -> RefusalKind:
    if error.quota_exceeded:
        return RefusalKind.QUOTA
    return RefusalKind.NAMESPACE_TERMINATING if error.namespace_terminating else RefusalKind.NOT_ALLOWED
