"""The chart on a real API server: how tests install it, and the objects that they try there."""

import json
from typing import Any

from tests.chart.helm import Helm
from tests.chart.readme import CHART
from tests.support.cluster_fixtures import Kubectl

RELEASE = "managedjobs"
NAMESPACE = "managedjobs-system"
OPERATOR = f"system:serviceaccount:{NAMESPACE}:managedjobs-operator"
CONTROLLER = f"system:serviceaccount:{NAMESPACE}:managedjobs-controller"
CRDS = ("controllerpools.managedjobs.dev", "managedjobs.managedjobs.dev")
SETTLE_SECONDS = 30.0
"""For what an API server takes up in its own time: policies, aggregated roles, garbage."""

IN_RELEASE = ("--namespace", NAMESPACE)
POD = {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}


def install(helm: Helm, kubectl: Kubectl, values: object = None) -> None:
    """Installs or upgrades the release, and waits until its kinds are served."""
    helm.run("upgrade", "--install", RELEASE, str(CHART), *IN_RELEASE, "--create-namespace", values=values)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *(f"crd/{name}" for name in CRDS))


def uninstall(helm: Helm) -> None:
    """Uninstalls the release, if it is there, and waits until its objects are gone."""
    helm.run("uninstall", RELEASE, *IN_RELEASE, "--ignore-not-found", "--wait")


def managed_job(name: str, **spec: object) -> dict[str, Any]:
    """A ManagedJob in namespace default."""
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ManagedJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"image": "busybox", "entrypoint": "true", **spec},
    }


def child_job(namespace: str) -> dict[str, Any]:
    """A suspended Job, as a controller would create one."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "child-", "namespace": namespace},
        "spec": {"suspend": True, "template": {"spec": POD}},
    }


def controller_pod(name: str, term: int | None) -> dict[str, Any]:
    """A claim by the leader of this term; None: by somebody who knows no term."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/name": "managedjobs", "app.kubernetes.io/component": "controller"},
            "annotations": {} if term is None else {"managedjobs.dev/leader-term": str(term)},
        },
        "spec": {**POD, "serviceAccountName": "managedjobs-controller"},
    }


def lease(term: int) -> dict[str, Any]:
    """The operator's Lease in this term."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "managedjobs-operator", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "operator-a", "leaseDurationSeconds": 15, "leaseTransitions": term},
    }


def create(kubectl: Kubectl, manifest: dict[str, Any], *arguments: str) -> str:
    """Creates it; what the API server said when it refused, else nothing."""
    done = kubectl("create", "-f", "-", *arguments, input=json.dumps(manifest), check=False)
    return done.stderr if done.returncode else ""


def patch_status(kubectl: Kubectl, name: str, status: dict[str, Any], *arguments: str) -> str:
    """Merges into a ManagedJob's status; what the API server said when it refused, else nothing."""
    target = ("managedjob", name, "--namespace=default", "--subresource=status")
    patch = ("--type=merge", "--patch", json.dumps({"status": status}))
    done = kubectl("patch", *target, *patch, *arguments, check=False)
    return done.stderr if done.returncode else ""
