"""Fixtures that give tests real clusters.

- `control_plane`: path of the kubeconfig of a real control plane without nodes, one per session.
- `kind_cluster`: path of the kubeconfig of the kind cluster, brought up if it is not.
- `kind_image`: name of the project's image, built from the checkout and loaded into the kind cluster.
- `cluster_kubeconfig`: the one of the two that fits the test: kind for tests marked `kind`, else the control plane.
- `kubectl`: runs kubectl against that one.   - `namespace`: a fresh namespace there, deleted after the test.
"""

import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import building, controlplane, loading, programs
from tests.cluster.cache import Cache
from tests.cluster.console import wait_until
from tests.cluster.kind import DEFAULT_NAME, Cluster

SERVICE_ACCOUNT_SECONDS = 30.0


class KubectlError(AssertionError):
    """kubectl ended with an error that the test did not expect."""


class Kubectl:
    """kubectl against one cluster: `kubectl("get", "pods", "-n", namespace)`."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._program = programs.path_of("kubectl", Cache.default())

    def __call__(
        self, *args: str, input: str | None = None, check: bool = True, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs it to its end; KubectlError with what it said if it fails, unless `check` is off."""
        command = [str(self._program), f"--kubeconfig={self.kubeconfig}", *args]
        done = subprocess.run(command, input=input, capture_output=True, text=True, check=False, timeout=timeout)
        if check and done.returncode:
            given = f"\ninput:\n{input}" if input else ""
            raise KubectlError(
                f"`kubectl {' '.join(args)}` ended with {done.returncode}: {done.stderr or done.stdout}{given}"
            )
        return done

    def get(self, *args: str) -> Any:  # noqa: ANN401 -- objects of the API have no type here
        """What `kubectl get … -o json` shows, as Python values."""
        return json.loads(self("get", *args, "-o", "json").stdout)

    def apply(self, *manifests: dict[str, Any], namespace: str | None = None) -> None:
        """Applies objects given as Python values."""
        where = ["-n", namespace] if namespace else []
        self("apply", "-f", "-", *where, input="\n---\n".join(json.dumps(manifest) for manifest in manifests))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Path]:
    """The kubeconfig of a real control plane without nodes; it ends with the session."""
    with controlplane.control_plane() as plane:
        yield plane.kubeconfig


@pytest.fixture(scope="session")
def kind_cluster() -> Path:
    """The kubeconfig of the kind cluster; one that runs already is used, with its number of workers, and stays up."""
    return Cluster(DEFAULT_NAME, Cache.default()).up(workers=None)


@pytest.fixture(scope="session")
def kind_image(kind_cluster: Path) -> str:
    """The image of the checkout as it is now, built and on every node; the one for examples is there as well."""
    cluster = Cluster(DEFAULT_NAME, Cache.default())
    assert cluster.kubeconfig == kind_cluster
    built = building.build(cluster.cache)
    loading.load(cluster, built)
    return built[0]


@pytest.fixture
def cluster_kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The kubeconfig of the cluster that this test is for: kind if it is marked so, else the control plane."""
    wanted = "kind_cluster" if request.node.get_closest_marker("kind") else "control_plane"
    kubeconfig = request.getfixturevalue(wanted)
    assert isinstance(kubeconfig, Path)
    return kubeconfig


@pytest.fixture
def kubectl(cluster_kubeconfig: Path) -> Kubectl:
    """kubectl against the cluster of this test."""
    return Kubectl(cluster_kubeconfig)


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A fresh namespace in which pods can be made; its deletion is not waited for, as its name is never used again."""
    name = f"test-{secrets.token_hex(4)}"
    kubectl("create", "namespace", name)
    wait_until(
        lambda: kubectl("get", "serviceaccount", "default", "-n", name, check=False).returncode == 0,
        f"service account `default` in {name}",
        SERVICE_ACCOUNT_SECONDS,
    )
    yield name
    kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
