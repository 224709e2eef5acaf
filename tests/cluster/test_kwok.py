"""Fake nodes: pods land on them and live the lives that their annotations ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import controlplane, kwok, processes
from tests.support.cluster_fixtures import Kubectl

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def fake_nodes() -> Iterator[Path]:
    """The kubeconfig of a control plane with two fake nodes."""
    with controlplane.control_plane() as plane, kwok.kwok(plane.kubeconfig, nodes=2):
        yield plane.kubeconfig


def job(name: str, annotations: dict[str, str]) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, "backoffLimit": 0},
    }


def test_a_pod_runs_on_until_it_is_deleted(fake_nodes: Path) -> None:
    kubectl = Kubectl(fake_nodes)
    kubectl("run", "service", "--image=none")
    kubectl("wait", "--for=condition=Ready", "pod/service", "--timeout=30s")
    assert kubectl.get("pod", "service")["status"]["podIP"].startswith("10.")
    kubectl("delete", "pod", "service", "--timeout=30s")


def test_a_job_ends_well_by_itself(fake_nodes: Path) -> None:
    kubectl = Kubectl(fake_nodes)
    kubectl.apply(job("short", {}))
    kubectl("wait", "--for=condition=Complete", "job/short", "--timeout=30s")


def test_an_annotation_makes_a_job_fail_with_an_exit_code(fake_nodes: Path) -> None:
    kubectl = Kubectl(fake_nodes)
    kubectl.apply(job("failing", {"kwok.managedjobs.dev/exit-code": "3"}))
    kubectl("wait", "--for=condition=Failed", "job/failing", "--timeout=30s")
    pod = kubectl.get("pods", "--selector=job-name=failing")["items"][0]
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_an_annotation_makes_a_job_run_for_a_while(fake_nodes: Path) -> None:
    kubectl = Kubectl(fake_nodes)
    kubectl.apply(job("long", {"kwok.managedjobs.dev/runs-for": "1h"}))
    kubectl("wait", "--for=jsonpath={.status.ready}=1", "job/long", "--timeout=30s")
    kubectl("delete", "job", "long", "--timeout=30s")


def test_up_for_people_is_found_again_and_ends(fake_nodes: Path) -> None:
    first = kwok.up(fake_nodes)
    try:
        assert kwok.up(fake_nodes) == first
    finally:
        assert kwok.down(fake_nodes)
    assert not first.alive
    assert not kwok.down(fake_nodes)
    assert processes.Process.of(first.pid) is None
