"""Answers of the API server, as errors that say what to do."""

import pytest

from managedjobs.kube.codec import decode_error
from managedjobs.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    api_error,
    one_line,
)


@pytest.mark.parametrize(
    ("status", "reason", "want"),
    [
        pytest.param(400, "BadRequest", BadRequest, id="400"),
        pytest.param(401, "Unauthorized", Unauthorized, id="401"),
        pytest.param(403, "Forbidden", Forbidden, id="403"),
        pytest.param(404, "NotFound", NotFound, id="404"),
        pytest.param(409, "AlreadyExists", AlreadyExists, id="409 on a create"),
        pytest.param(409, "Conflict", Conflict, id="409 on a patch"),
        pytest.param(409, "", Conflict, id="409 of unknown reason"),
        pytest.param(410, "Expired", Gone, id="410"),
        pytest.param(422, "Invalid", Invalid, id="422"),
        pytest.param(429, "TooManyRequests", TooManyRequests, id="429"),
        pytest.param(500, "InternalError", ServerError, id="500"),
        pytest.param(504, "Timeout", ServerError, id="504"),
        pytest.param(302, "", ApiError, id="a redirect is none of the known ones"),
    ],
)
def test_each_answer_has_its_own_error(status: int, reason: str, want: type[ApiError]) -> None:
    error = api_error(status, reason, "text")
    assert type(error) is want
    assert (error.status, error.reason, error.message) == (status, reason, "text")


def test_an_error_is_one_readable_line() -> None:
    error = api_error(409, "Conflict", "was\n  changed", request="PATCH /api/v1/namespaces/a/pods/b")
    assert str(error) == "PATCH /api/v1/namespaces/a/pods/b: HTTP 409 Conflict: was changed"
    assert str(api_error(503)) == "HTTP 503"
    assert str(Unreachable("cannot\nconnect", request="GET /x")) == "GET /x: cannot connect"


def test_an_endless_message_is_cut() -> None:
    assert len(api_error(422, "Invalid", "x" * 5000).message) == 1000
    assert one_line("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("message", "causes", "quota", "terminating"),
    [
        pytest.param('pods "a" is forbidden: exceeded quota: q, requested: pods=1', [], True, False, id="quota full"),
        pytest.param("status unknown for quota: q, resources: pods", [], True, False, id="quota not counted yet"),
        pytest.param(
            "failed quota: q: must specify limits.cpu", [], False, False, id="no limit given: not cured by time"
        ),
        pytest.param(
            "unable to create", [{"reason": "NamespaceTerminating"}], False, True, id="namespace going, by cause"
        ),
        pytest.param("because it is being terminated", [], False, True, id="namespace going, by text"),
        pytest.param('user "x" cannot create', [], False, False, id="a missing right"),
    ],
)
def test_a_403_says_whether_time_may_cure_it(
    message: str, causes: list[dict[str, str]], quota: bool, terminating: bool
) -> None:
    error = api_error(403, "Forbidden", message, {"causes": causes})
    assert isinstance(error, Forbidden)
    assert error.quota_exceeded is quota
    assert error.namespace_terminating is terminating


@pytest.mark.parametrize(
    ("headers", "body", "want"),
    [
        pytest.param({"Retry-After": "7"}, b"{}", 7.0, id="from the header"),
        pytest.param({}, b'{"details":{"retryAfterSeconds":3}}', 3.0, id="from the Status"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, b"{}", None, id="a date is not understood"),
        pytest.param({}, b"{}", None, id="not said"),
    ],
)
def test_the_time_to_wait_is_read(headers: dict[str, str], body: bytes, want: float | None) -> None:
    assert decode_error(429, body, headers, "GET /x").retry_after == want


def test_a_page_of_a_proxy_becomes_the_message() -> None:
    error = decode_error(502, b"<html>\n<b>Bad Gateway</b></html>", {}, "GET /x")
    assert isinstance(error, ServerError)
    assert str(error) == "GET /x: HTTP 502: <html> <b>Bad Gateway</b></html>"
