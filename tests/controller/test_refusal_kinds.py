"""What answers of the API server mean for an attempt."""

import pytest

from managedjobs.controller.refusals import refusal_of_create, refusal_of_event
from managedjobs.core.driving.view import RefusalKind
from managedjobs.kube.errors import api_error
from tests.support.driven import NOW

TERMINATING = {"causes": [{"reason": "NamespaceTerminating", "message": "n"}]}


@pytest.mark.parametrize(
    ("status", "message", "details", "want"),
    [
        (400, "unknown field", {}, RefusalKind.INVALID),
        (422, "Required value", {}, RefusalKind.INVALID),
        (403, "User can't create jobs", {}, RefusalKind.NOT_ALLOWED),
        (403, "exceeded quota: small", {}, RefusalKind.QUOTA),
        (403, "status unknown for quota: small", {}, RefusalKind.QUOTA),
        (403, "unable to create new content", TERMINATING, RefusalKind.NAMESPACE_TERMINATING),
        (500, "failed calling webhook", {}, RefusalKind.TEMPORARY),
        (429, "slow down", {}, RefusalKind.TEMPORARY),
        (404, "namespaces not found", {}, RefusalKind.TEMPORARY),
    ],
)
def test_a_refused_create(status: int, message: str, details: dict[str, object], want: RefusalKind):
    refusal = refusal_of_create(api_error(status, message=message, details=details), 3, NOW)
    assert (refusal.kind, refusal.message, refusal.attempt) == (want, message, 3)
    assert refusal.retry_at == (NOW if want is RefusalKind.TEMPORARY else None)


@pytest.mark.parametrize(
    ("message", "want"),
    [
        ('pods "a" is forbidden: exceeded quota: small', RefusalKind.QUOTA),
        ('pods "a" is forbidden: violates PodSecurity "restricted:latest"', RefusalKind.NOT_ALLOWED),
        ('pods "a" is forbidden: error looking up service account n/s: not found', RefusalKind.TEMPORARY),
        ('pods "a" is forbidden: unable to create new content in namespace n because it is being terminated',
         RefusalKind.TEMPORARY),
        ("Internal error occurred: failed calling webhook", RefusalKind.TEMPORARY),
        ('Pod "a" is invalid: spec.containers[0].image: Invalid value: " b "', RefusalKind.INVALID),
    ],
)  # fmt: skip
def test_pods_that_the_job_controller_could_not_create(message: str, want: RefusalKind):
    assert refusal_of_event(message, 3).kind is want
