"""`kubectl explain` as a person reads it."""

import pytest

from tests.cluster.console import wait_until
from tests.crds.server import Server

pytestmark = pytest.mark.controlplane

PUBLISHED_SECONDS = 60.0


@pytest.fixture(scope="module")
def explaining(server: Server) -> Server:
    """The server, once it publishes the OpenAPI document of our resources."""
    wait_until(
        lambda: all(
            server.kubectl("explain", what, check=False).returncode == 0 for what in ("mj.spec", "cpool.spec")
        ),
        "kubectl explain to know our resources",
        PUBLISHED_SECONDS,
    )
    return server


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param("mj", "kept going until it ends", id="what a ManagedJob is"),
        pytest.param("mj.spec", "Exactly one of template, image (the short form) and tasks", id="what to write first"),
        pytest.param("mj.spec.priority", "Higher goes first. Default 0.", id="a default"),
        pytest.param("mj.spec.launchTimeoutSeconds", "in seconds", id="a unit"),
        pytest.param("mj.spec.recovery.strategy", "ENUM: Relaunch SameNodeFirst", id="a closed set"),
        pytest.param("mj.spec.recovery.nodeLost.policy", "although the lost pod may still run", id="a risk"),
        pytest.param("mj.spec.template.spec.restartPolicy", "Never, or left out", id="our own rule for a pod"),
        pytest.param("mj.spec.template.spec.containers.image", "Container image name.", id="a field of a container"),
        pytest.param("mj.status.schedule.position", "Place in line, from 1", id="a field of the status"),
        pytest.param("cpool.spec.memoryPerJob", "Default 350Mi.", id="a default of a pool"),
        pytest.param("cpool.status.boundBy", "Which bound", id="a field of a pool's status"),
    ],
)
def test_kubectl_explain_says(explaining: Server, field: str, text: str) -> None:
    assert text in " ".join(explaining.kubectl("explain", field).stdout.split())


def test_kubectl_explain_describes_every_field_of_a_spec(explaining: Server) -> None:
    listed = explaining.kubectl("explain", "mj.spec").stdout.partition("FIELDS:")[2]
    undescribed = [entry for entry in listed.strip().split("\n\n") if len(entry.strip().splitlines()) < 2]
    assert undescribed == []
