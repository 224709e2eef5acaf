"""Memory of controller pods: cgroup working set as the kubelet reports it, p95 of 20 pods on one node."""

from __future__ import annotations

import json
import math
import secrets
import time
from datetime import datetime
from typing import Any

from tests.bench.rows import Row
from tests.e2e.jobs import job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import JobWatch, phase_of

JOBS = 20
BUDGET_MIB = 32.0
RELEASE_NAMESPACE = "managedjobs-system"
_SETTLED_SECONDS = 20
"""How much younger a figure must be than those seen when all jobs ran: the kubelet samples every ten seconds or so."""


def measure(kubectl: Kubectl, program: str) -> list[Row]:
    """Run 20 jobs that print a line each second, and read what their controllers hold."""
    namespace = f"bench-{secrets.token_hex(3)}"
    kubectl("create", "namespace", namespace)
    try:
        names = [f"steady-{number}" for number in range(JOBS)]
        pool = {
            "apiVersion": "managedjobs.dev/v1alpha1",
            "kind": "ControllerPool",
            "metadata": {"name": namespace},
            "spec": {"capacity": {"cpu": 8, "memory": "16Gi"}, "nodeSelector": _one_worker(kubectl)},
        }
        kubectl.apply(pool)
        line = "while true; do date; sleep 1; done"
        with JobWatch(program, kubectl.kubeconfig, namespace) as watch:
            kubectl.apply(*(job(name, line, controllerPoolName=namespace) for name in names), namespace=namespace)
            watch.until(
                "all jobs run",
                lambda jobs: all(phase_of(jobs.get(name)) == "Running" for name in names),
                seconds=300,
            )
            sizes = _settled_sizes(kubectl, namespace)
            operator = _operator_size(kubectl)
            kubectl("delete", "managedjobs", "--all", "-n", namespace, "--timeout=120s")
    finally:
        kubectl("delete", "controllerpool", namespace, "--ignore-not-found")
        kubectl("delete", "namespace", namespace, "--wait=false")
    p95 = sizes[math.ceil(0.95 * len(sizes)) - 1]
    return [
        Row(
            id="controller pod memory, p95 of 20 on one node", value=p95, unit="MiB", budget=BUDGET_MIB,
            against="cgroup working set, kubelet stats summary",
        ),
        Row(
            id="operator memory, 20 running jobs", value=operator, unit="MiB", budget=250.0,
            against="the budget for 10,000 waiting jobs",
        ),
    ]  # fmt: skip


def _one_worker(kubectl: Kubectl) -> dict[str, str]:
    nodes = kubectl.get("nodes", "-l", "!node-role.kubernetes.io/control-plane")["items"]
    return {"kubernetes.io/hostname": nodes[0]["metadata"]["labels"]["kubernetes.io/hostname"]}


def _settled_sizes(kubectl: Kubectl, namespace: str) -> list[float]:
    selector = f"managedjobs.dev/job-namespace={namespace}"
    pods = kubectl.get("pods", "-n", RELEASE_NAMESPACE, "-l", selector)["items"]
    names = {pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"}
    node = pods[0]["spec"]["nodeName"]
    first = max((at for _, at in _working_sets(kubectl, node).values()), default=0.0)
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        found = _working_sets(kubectl, node)
        fresh = {name: mib for name, (mib, at) in found.items() if name in names and at > first + _SETTLED_SECONDS}
        if len(fresh) == len(names) == JOBS:
            return sorted(fresh.values())
    raise SystemExit(f"the kubelet of {node} shows {len(found)} pods, {JOBS} controllers were expected")


def _operator_size(kubectl: Kubectl) -> float:
    pods = kubectl.get("pods", "-n", RELEASE_NAMESPACE, "-l", "app.kubernetes.io/component=operator")["items"]
    found = _working_sets(kubectl, pods[0]["spec"]["nodeName"])
    return found[pods[0]["metadata"]["name"]][0]


def _working_sets(kubectl: Kubectl, node: str) -> dict[str, tuple[float, float]]:
    """By pod of the release's namespace: working set in MiB, and when it was sampled (seconds since the epoch)."""
    summary: dict[str, Any] = json.loads(kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary").stdout)
    return {
        pod["podRef"]["name"]: (
            container["memory"]["workingSetBytes"] / 2**20,
            datetime.fromisoformat(container["memory"]["time"]).timestamp(),
        )
        for pod in summary["pods"]
        if pod["podRef"]["namespace"] == RELEASE_NAMESPACE
        for container in pod["containers"][:1]
        if "workingSetBytes" in container.get("memory", {})
    }
