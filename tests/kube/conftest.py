"""A fake API server, and a client of it that is quick to give up."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.credentials import load_credentials
from managedjobs.kube.transport import Options
from tests.cluster.console import wait_until
from tests.support.cluster_fixtures import Kubectl
from tests.support.fake_api import FakeApi

CRD = Path(__file__).parents[2] / "crds" / "managedjobs.yaml"

QUICK = Options(
    request_timeout=0.3,
    retry_initial=0.001,
    retry_max=0.01,
    retry_after_max=0.5,
    watch_timeout=20,
    watch_inactivity=5.0,
)


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    """A fake API server."""
    async with FakeApi() as server:
        yield server


@pytest.fixture
async def client(api: FakeApi) -> AsyncIterator[Client]:
    """A client of the fake API server."""
    async with Client(api.credentials(), options=QUICK) as ready:
        yield ready


@pytest.fixture
async def real(control_plane: Path) -> AsyncIterator[Client]:
    """A client of the real control plane."""
    async with Client(load_credentials({"KUBECONFIG": str(control_plane)})) as ready:
        yield ready


@pytest.fixture(scope="session")
def managed_jobs_served(control_plane: Path) -> None:
    """The real control plane serves ManagedJobs."""
    kubectl = Kubectl(control_plane)
    kubectl("apply", "-f", str(CRD))
    wait_until(
        lambda: kubectl("get", "managedjobs", "-A", check=False).returncode == 0, "ManagedJobs are served", timeout=60
    )
