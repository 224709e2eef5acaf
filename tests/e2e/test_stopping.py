"""Cancel and delete, in every phase: the pods go, and nothing is left behind."""

from collections.abc import Callable

import pytest

from tests.cluster.console import wait_until
from tests.e2e.conftest import RELEASE_NAMESPACE
from tests.e2e.jobs import STAY, job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import JobWatch

pytestmark = pytest.mark.kind
Apply = Callable[..., None]
CANCEL = '{"spec": {"cancel": true}}'
NOWHERE = {"nodeSelector": {"no-such-node": "true"}}


def unschedulable(name: str) -> dict[str, object]:
    body = job(name, "unused")
    container = {"name": "main", "image": body["spec"]["image"], "command": ["true"]}
    body["spec"] = {"template": {"spec": NOWHERE | {"containers": [container]}}}
    return body


def running_pods(kubectl: Kubectl, namespace: str) -> list[str]:
    pods = kubectl.get("pods", "-n", namespace)["items"]
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]


def test_a_waiting_job_is_cancelled_without_a_controller(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    apply(job("waits", "true", controllerPoolName="no-such-pool"))
    watch.until("the job says why it waits", lambda jobs: reason(jobs, "waits") == "PoolNotFound", seconds=30)
    kubectl("patch", "mj", "waits", "-n", namespace, "--type=merge", "-p", CANCEL)
    ended = watch.until_phase("waits", "Cancelled")["status"]
    assert ended.get("attemptCount", 0) == 0


def test_a_running_job_is_cancelled_with_its_grace_period(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    apply(job("runs", "trap 'echo saved; exit 0' TERM; echo started; while true; do sleep 0.2; done"))
    watch.until_phase("runs", "Running")
    kubectl("patch", "mj", "runs", "-n", namespace, "--type=merge", "-p", CANCEL)
    ended = watch.until_phase("runs", "Cancelled")["status"]
    assert ended["attempts"][-1]["ending"] == "Cancelled"
    assert running_pods(kubectl, namespace) == []
    assert "Cancelling" in [state["status"]["phase"] for state in watch.seen("runs")]


def test_a_launching_job_is_cancelled(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    apply(unschedulable("stuck"))
    watch.until_phase("stuck", "Launching")
    watch.until("it says why", lambda jobs: "unschedulable" in jobs["stuck"]["status"]["description"], seconds=30)
    kubectl("patch", "mj", "stuck", "-n", namespace, "--type=merge", "-p", CANCEL)
    watch.until_phase("stuck", "Cancelled")
    assert running_pods(kubectl, namespace) == []


@pytest.mark.parametrize("phase", ["Launching", "Running", "Succeeded"])
def test_a_deleted_job_leaves_nothing_behind(
    phase: str, apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    body = {"Launching": unschedulable("gone"), "Running": job("gone", STAY), "Succeeded": job("gone", "true")}
    apply(body[phase])
    watch.until_phase("gone", phase)
    kubectl("delete", "mj", "gone", "-n", namespace)
    selector = f"managedjobs.dev/job-namespace={namespace}"
    wait_until(
        lambda: (
            not kubectl.get("jobs,pods,services", "-n", namespace)["items"]
            and not kubectl.get("pods", "-n", RELEASE_NAMESPACE, "-l", selector)["items"]
        ),
        "nothing of the job is left",
        90,
    )


def reason(jobs: dict[str, dict[str, dict[str, str]]], name: str) -> str:
    return jobs.get(name, {}).get("status", {}).get("reason", "")
