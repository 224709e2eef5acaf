"""The API server with our CRDs in it, once for the session."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.console import wait_until
from tests.crds.objects import CRDS
from tests.crds.server import Server
from tests.support.cluster_fixtures import Kubectl

SERVED_SECONDS = 60.0


@pytest.fixture(scope="session")
def server(control_plane: Path) -> Iterator[Server]:
    """The API server, our CRDs established, and a namespace that ends with the session."""
    kubectl = Kubectl(control_plane)
    crds = ("-f", str(CRDS / "managedjobs.yaml"), "-f", str(CRDS / "controllerpools.yaml"))
    kubectl("apply", *crds)
    # `kubectl wait` fails on a CRD that has no conditions yet.
    wait_until(
        lambda: kubectl("get", "managedjobs,controllerpools", "-A", check=False).returncode == 0,
        "the API server to serve our resources",
        SERVED_SECONDS,
    )
    namespace = f"crds-{secrets.token_hex(4)}"
    kubectl("create", "namespace", namespace)
    yield Server(kubectl, namespace)
    kubectl("delete", "namespace", namespace, "--wait=false")
