"""A real control plane that serves ManagedJobs, and a stage on it."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from managedjobs.kube.backoff import pause
from managedjobs.kube.client import Client
from managedjobs.kube.credentials import load_credentials
from tests.cluster.console import wait_until
from tests.controller.stage import Stage
from tests.support.cluster_fixtures import Kubectl

CRD = Path(__file__).parents[2] / "crds" / "managedjobs.yaml"
SERVED_SECONDS = 60.0
CONNECTIONS_CLOSE_SECONDS = 0.05
"""For what the event loop has still to do about closed connections before it ends."""


@pytest.fixture(scope="session")
def serving(control_plane: Path) -> Path:
    """The kubeconfig of a control plane that serves ManagedJobs."""
    kubectl = Kubectl(control_plane)
    kubectl("apply", "-f", str(CRD))
    wait_until(
        lambda: kubectl("get", "managedjobs", "-A", check=False).returncode == 0, "ManagedJobs served", SERVED_SECONDS
    )
    return control_plane


@pytest.fixture
async def stage(serving: Path) -> AsyncIterator[Stage]:
    """A fresh namespace in which a test plays operator and kubelet."""
    async with Client(load_credentials({"KUBECONFIG": str(serving)})) as client:
        ready = Stage(client, serving, f"test-{secrets.token_hex(4)}")
        await ready.open()
        yield ready
        await ready.close()
    await pause(CONNECTIONS_CLOSE_SECONDS)
