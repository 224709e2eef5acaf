"""What can go wrong between us and the API server.

    KubeError
    ├── ApiError              the server answered, and said no
    │   ├── BadRequest        400
    │   ├── Unauthorized      401
    │   ├── Forbidden         403  .quota_exceeded, .namespace_terminating
    │   ├── NotFound          404
    │   ├── AlreadyExists     409, reason AlreadyExists
    │   ├── Conflict          409, any other reason
    │   ├── Gone              410
    │   ├── Invalid           422
    │   ├── TooManyRequests   429  .retry_after
    │   └── ServerError       5xx
    ├── Unreachable           no answer: what became of a write is unknown, unless `.sent` is false
    ├── Unreadable            a good status with a body that we can't read
    └── CredentialsError      no way in: nothing was asked

`str(error)` is one line that a person can read.
"""

# ruff: noqa: N818 - an answer of the server, named as Kubernetes names it, reads better than with "Error"

from collections.abc import Mapping
from typing import Any

_MAX_TEXT = 1000  # characters of a message that are kept: an admission webhook may answer with a page


def one_line(text: str, limit: int = _MAX_TEXT) -> str:
    """`text` with all runs of white space made one space, cut to `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


class KubeError(Exception):
    """Anything that went wrong with a request to the API server."""


class CredentialsError(KubeError):
    """There is no usable way to log in; the text says where was looked and what to do."""


class Unreachable(KubeError):
    """No whole answer came back. `sent` false: the request never left, so nothing was changed."""

    def __init__(self, message: str, *, request: str = "", sent: bool = True) -> None:
        self.message = one_line(message)
        self.request = request
        self.sent = sent
        super().__init__(f"{request}: {self.message}" if request else self.message)


class Unreadable(KubeError):
    """The server's answer does not have the expected shape; a write has happened nevertheless."""

    def __init__(self, message: str, *, request: str = "") -> None:
        self.message = one_line(message)
        super().__init__(f"{request}: unreadable answer: {self.message}")


class ApiError(KubeError):
    """The server's refusal: HTTP `status`, and `reason`, `message`, `details` of its Status object.

    `in_doubt`: an earlier try of the same request had no clear answer, so this refusal may be its effect.
    """

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        *,
        request: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = one_line(message)
        self.details: Mapping[str, Any] = details or {}
        self.request = request
        self.in_doubt = False
        self.retry_after = retry_after  # seconds the server asked us to wait; None: it did not say
        super().__init__(self._line())

    def _line(self) -> str:
        where = f"{self.request}: " if self.request else ""
        reason = f" {self.reason}" if self.reason else ""
        what = f": {self.message}" if self.message else ""
        return f"{where}HTTP {self.status}{reason}{what}"

    def has_cause(self, reason: str) -> bool:
        """Whether the server names `reason` among the causes."""
        causes = self.details.get("causes") or ()
        return any(isinstance(cause, Mapping) and cause.get("reason") == reason for cause in causes)


class BadRequest(ApiError):
    """400: the request can't be understood."""


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or no longer valid."""


class Forbidden(ApiError):
    """403: a missing right, a policy, a quota, or a namespace that is going away."""

    @property
    def quota_exceeded(self) -> bool:
        """Whether a ResourceQuota is the cause, which time may cure."""
        # The quota admission plug-in gives no machine-readable cause; the second text is a quota not yet counted.
        return "exceeded quota" in self.message or "status unknown for quota" in self.message

    @property
    def namespace_terminating(self) -> bool:
        """Whether the namespace is being deleted, which nothing cures."""
        return self.has_cause("NamespaceTerminating") or "because it is being terminated" in self.message


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class AlreadyExists(ApiError):
    """409 on a create: an object of that name is there."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition does not hold."""


class Gone(ApiError):
    """410: this resourceVersion or page is too old; list again."""


class Invalid(ApiError):
    """422: the object breaks a rule of its schema."""


class TooManyRequests(ApiError):
    """429: the server is busy and did nothing; `retry_after` seconds when it said so."""


class ServerError(ApiError):
    """5xx: something broke on the server's side; a write may or may not have happened."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(
    status: int,
    reason: str = "",
    message: str = "",
    details: Mapping[str, Any] | None = None,
    *,
    request: str = "",
    retry_after: float | None = None,
) -> ApiError:
    """The error of the tree that fits `status` and `reason`."""
    if status == 409:
        kind: type[ApiError] = AlreadyExists if reason == "AlreadyExists" else Conflict
    else:
        kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, reason, message, details, request=request, retry_after=retry_after)
