"""Where objects live on the API server."""

import pytest

from managedjobs.kube.resources import JOBS, LEASES, MANAGED_JOBS, NODES, PODS, Resource


@pytest.mark.parametrize(
    ("resource", "where", "want"),
    [
        pytest.param(PODS, ("a",), "/api/v1/namespaces/a/pods", id="pods of a namespace"),
        pytest.param(PODS, (None,), "/api/v1/pods", id="pods of all namespaces"),
        pytest.param(PODS, ("a", "b", "log"), "/api/v1/namespaces/a/pods/b/log", id="a subresource"),
        pytest.param(NODES, (None, "n"), "/api/v1/nodes/n", id="a node"),
        pytest.param(NODES, ("ignored", "n"), "/api/v1/nodes/n", id="a node has no namespace"),
        pytest.param(JOBS, ("a", "b"), "/apis/batch/v1/namespaces/a/jobs/b", id="a child Job"),
        pytest.param(
            MANAGED_JOBS,
            ("a", "b", "status"),
            "/apis/managedjobs.dev/v1alpha1/namespaces/a/managedjobs/b/status",
            id="the status of a job",
        ),
        pytest.param(LEASES, ("a", "../x"), "/apis/coordination.k8s.io/v1/namespaces/a/leases/..%2Fx", id="quoted"),
    ],
)
def test_an_object_has_one_path(resource: Resource, where: tuple[str | None, ...], want: str) -> None:
    assert resource.path(*where) == want


def test_naming_an_object_without_its_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="a namespace is needed to name one Pod"):
        PODS.path(None, "b")


def test_the_api_version_is_what_manifests_say() -> None:
    assert (PODS.api_version, JOBS.api_version) == ("v1", "batch/v1")
