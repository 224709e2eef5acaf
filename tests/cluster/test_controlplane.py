"""The control plane that other tests stand on: it comes up, is real, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import controlplane
from tests.cluster.cache import REPOSITORY, Cache
from tests.cluster.console import wait_until
from tests.cluster.controlplane import ControlPlane
from tests.support.cluster_fixtures import Kubectl, KubectlError

pytestmark = pytest.mark.controlplane

OWNER = """
import sys
from tests.cluster.controlplane import control_plane
with control_plane() as plane:
    print(plane.directory, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def killed_owner() -> Iterator[ControlPlane]:
    """A control plane whose owner was killed with no chance to clean up."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        plane = ControlPlane.load(Path(owner.stdout.readline().strip()))
        assert plane is not None
        assert all(process.alive for process in plane.running.values())
        os.kill(owner.pid, signal.SIGKILL)
    yield plane
    controlplane.down(plane.directory)


def test_a_namespace_gets_its_service_account_and_a_quota_is_enforced(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "quota", "no-pods", "--hard=pods=0", "-n", namespace)
    with pytest.raises(KubectlError, match="exceeded quota"):
        kubectl("run", "refused", "--image=none", "-n", namespace)


def test_a_user_without_rights_is_refused(kubectl: Kubectl, namespace: str) -> None:
    stranger = f"--as=system:serviceaccount:{namespace}:default"
    with pytest.raises(KubectlError, match="Forbidden"):
        kubectl("get", "pods", "-n", namespace, stranger)


def test_a_job_gets_its_pod_from_the_real_controllers(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "job", "work", "--image=none", "-n", namespace)
    kubectl("wait", "--for=create", "pod", "--selector=job-name=work", "-n", namespace, "--timeout=30s")
    waiting = "--for=jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    kubectl("wait", waiting, "pod", "--selector=job-name=work", "-n", namespace, "--timeout=30s")


def test_a_killed_owner_leaves_no_processes(killed_owner: ControlPlane) -> None:
    wait_until(
        lambda: not any(process.alive for process in killed_owner.running.values()), "the end of all processes", 10
    )


def test_the_next_sweep_removes_what_a_killed_owner_left_on_disk(killed_owner: ControlPlane) -> None:
    assert killed_owner.directory.exists()
    assert killed_owner.directory in controlplane.sweep(Cache.default())
    assert not killed_owner.directory.exists()


def test_up_is_found_again_replaced_when_broken_and_taken_down(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    try:
        first = controlplane.up(directory)
        again = controlplane.up(directory)
        assert again.running == first.running, "a healthy one is left alone"
        first.kill("etcd")
        second = controlplane.up(directory)
        assert second.healthy
        assert not any(process.alive for process in first.running.values()), "what was left of the broken one is gone"
    finally:
        assert controlplane.down(directory)
    assert not any(process.alive for process in second.running.values())
    assert not directory.exists()
    assert not controlplane.down(directory), "down is idempotent"


def test_an_api_server_that_crashed_can_be_started_again_with_its_objects() -> None:
    with controlplane.control_plane() as plane:
        kubectl = Kubectl(plane.kubeconfig)
        kubectl("create", "configmap", "kept", "-n", "default")
        plane.kill("kube-apiserver")
        assert not plane.answers("/readyz")
        plane.start("kube-apiserver")
        assert json.loads(kubectl("get", "configmap", "kept", "-o", "json").stdout)["metadata"]["name"] == "kept"
