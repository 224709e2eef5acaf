"""The chart installed on kind, and what a test needs to follow its jobs."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import programs
from tests.cluster.cache import Cache
from tests.e2e.jobs import pool
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import JobWatch

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "managedjobs"
RELEASE_NAMESPACE = "managedjobs-system"


class Helm:
    """helm against the kind cluster, for our release."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._program = programs.path_of("helm", Cache.default())

    def __call__(self, *args: str) -> str:
        """Run helm in the release's namespace; its output. AssertionError with what it said if it fails."""
        command = [str(self._program), f"--kubeconfig={self.kubeconfig}", f"--namespace={RELEASE_NAMESPACE}", *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"helm {' '.join(args)}: {done.stderr or done.stdout}"
        return done.stdout

    def install(self, *settings: str) -> str:
        """Install or upgrade the chart with the image under test, and wait until it is ready."""
        return self(
            "upgrade", "--install", RELEASE, str(ROOT / "charts" / "managedjobs"), "--create-namespace", "--wait",
            "--timeout=180s", "--set", "image.repository=managedjobs,image.tag=dev", *settings,
        )  # fmt: skip


@pytest.fixture(scope="session")
def helm(kind_cluster: Path, kind_image: str) -> Helm:
    """helm, on a cluster that has the image under test."""
    assert kind_image == "managedjobs:dev"
    return Helm(kind_cluster)


@pytest.fixture(scope="session")
def release(helm: Helm) -> Helm:
    """The chart, installed as a user would install it."""
    helm.install()
    return helm


@pytest.fixture
def watch(release: Helm, kubectl: Kubectl, namespace: str) -> Iterator[JobWatch]:
    """The ManagedJobs of the test's namespace, followed; none is left when the test ends."""
    with JobWatch(programs.path_of("kubectl", Cache.default()), release.kubeconfig, namespace) as jobs:
        yield jobs
        kubectl("delete", "managedjobs", "--all", "-n", namespace, "--wait", "--timeout=60s")


@pytest.fixture
def apply(kubectl: Kubectl, namespace: str, watch: JobWatch) -> Callable[..., None]:
    """Apply jobs in the test's namespace, under its watch."""
    assert watch is not None

    def put(*jobs: dict[str, Any]) -> None:
        kubectl.apply(*jobs, namespace=namespace)

    return put


@pytest.fixture
def small_pool(kubectl: Kubectl, namespace: str, release: Helm) -> Iterator[str]:
    """A pool of the test's own in which one job may launch and two may be alive."""
    assert release is not None
    kubectl.apply(pool(namespace, maxLaunching=1, maxRunning=2))
    yield namespace
    kubectl("delete", "controllerpool", namespace, "--ignore-not-found")
