"""The chart on a real API server: what an installation leaves, and what its rules really allow."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.chart.helm import Helm, HelmError
from tests.chart.readme import CHART
from tests.cluster.console import wait_until
from tests.cluster.controlplane import ControlPlane
from tests.support.cluster_fixtures import Kubectl

pytestmark = [pytest.mark.helm, pytest.mark.controlplane]

RELEASE = "managedjobs"
NAMESPACE = "managedjobs-system"
OPERATOR = f"system:serviceaccount:{NAMESPACE}:managedjobs-operator"
CONTROLLER = f"system:serviceaccount:{NAMESPACE}:managedjobs-controller"
CRDS = ["controllerpools.managedjobs.dev", "managedjobs.managedjobs.dev"]
SETTLE_SECONDS = 30.0

POD = {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}
IN_RELEASE = ("--namespace", NAMESPACE)


@pytest.fixture(scope="module")
def on_cluster(helm: Helm, cluster: ControlPlane) -> Helm:
    return replace(helm, kubeconfig=cluster.kubeconfig)


@pytest.fixture(scope="module")
def kubectl(cluster: ControlPlane) -> Kubectl:
    return Kubectl(cluster.kubeconfig)


def install(helm: Helm, *arguments: str, values: object = None) -> str:
    return helm.run(
        "upgrade", "--install", RELEASE, str(CHART), *IN_RELEASE, "--create-namespace", *arguments, values=values
    )


@pytest.fixture
def installed(on_cluster: Helm, kubectl: Kubectl) -> Iterator[Helm]:
    """The chart as it comes; gone again after the test, apart from what it keeps."""
    install(on_cluster)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", *(f"crd/{name}" for name in CRDS))
    yield on_cluster
    on_cluster.run("uninstall", RELEASE, *IN_RELEASE, "--ignore-not-found", "--wait")


def managed_job(name: str, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ManagedJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"image": "busybox", "entrypoint": "true", **spec},
    }


def child_job(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "child-", "namespace": namespace},
        "spec": {"suspend": True, "template": {"spec": POD}},
    }


def controller_pod(name: str, term: int | None) -> dict[str, Any]:
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
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "managedjobs-operator", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "operator-a", "leaseDurationSeconds": 15, "leaseTransitions": term},
    }


def create(kubectl: Kubectl, manifest: dict[str, Any], *arguments: str) -> str:
    """Creates it; what the API server said when it refuses, else nothing."""
    done = kubectl("create", "-f", "-", *arguments, input=json.dumps(manifest), check=False)
    return done.stderr if done.returncode else ""


def patch_status(kubectl: Kubectl, name: str, status: dict[str, Any], *arguments: str) -> str:
    body = json.dumps({"status": status})
    done = kubectl(
        *("patch", "managedjob", name, "--namespace=default", "--subresource=status", "--type=merge"),
        *("--patch", body, *arguments),
        check=False,
    )
    return done.stderr if done.returncode else ""


def test_the_api_server_takes_the_chart_in_a_dry_run(on_cluster: Helm, kubectl: Kubectl):
    kubectl("create", "namespace", NAMESPACE, check=False)
    shown = on_cluster.run(
        "install", RELEASE, str(CHART), *IN_RELEASE, "--dry-run=server",
        values={
            "podDisruptionBudget": {"enabled": True},
            "networkPolicy": {"enabled": True},
            "controller": {"priorityClass": {"create": True}},
            "rbac": {"poolReader": {"create": True, "groups": ["system:authenticated"]}},
            "policies": {"poolUse": True, "prioritize": True},
            "workloadNamespaces": ["default"],
        },
    )  # fmt: skip
    assert "STATUS: pending-install" in shown


def test_jobs_and_crds_outlive_an_uninstall_and_a_new_installation_takes_them_over(installed: Helm, kubectl: Kubectl):
    kubectl.apply(managed_job("keeper"))
    uid = kubectl.get("managedjob", "keeper", "-n", "default")["metadata"]["uid"]
    crd_uids = [kubectl.get("crd", name)["metadata"]["uid"] for name in CRDS]

    install(installed, values={"operator": {"replicas": 2}, "workloadNamespaces": ["default"]})
    assert kubectl.get("deployment", "managedjobs-operator", "-n", NAMESPACE)["spec"]["replicas"] == 2
    installed.run("uninstall", RELEASE, *IN_RELEASE, "--wait")
    left = kubectl("get", "deployment,service,sa,role,rolebinding", "-n", NAMESPACE, "-o", "name").stdout.split()
    assert left == ["serviceaccount/default"]
    own = "app.kubernetes.io/instance=managedjobs"
    kinds = "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
    assert kubectl("get", kinds, "-l", own, "-o", "name").stdout == ""
    assert kubectl.get("managedjob", "keeper", "-n", "default")["metadata"]["uid"] == uid

    install(installed)
    assert kubectl.get("managedjob", "keeper", "-n", "default")["metadata"]["uid"] == uid
    assert [kubectl.get("crd", name)["metadata"]["uid"] for name in CRDS] == crd_uids


def test_controller_pods_go_with_the_account_that_owns_them(installed: Helm, kubectl: Kubectl):
    kubectl.apply(lease(1))
    account = kubectl.get("sa", "managedjobs-controller", "-n", NAMESPACE)["metadata"]
    pod = controller_pod("owned", term=1)
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": account["name"], "uid": account["uid"]}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    wait_until(lambda: not create(kubectl, pod), "the pod admitted in the new term", SETTLE_SECONDS)
    installed.run("uninstall", RELEASE, *IN_RELEASE)
    wait_until(
        lambda: kubectl("get", "pod", "owned", "-n", NAMESPACE, check=False).returncode != 0,
        "the controller pod collected",
        SETTLE_SECONDS,
    )


def test_a_second_installation_in_one_cluster_is_refused_by_helm(installed: Helm):
    with pytest.raises(HelmError, match="invalid ownership metadata"):
        installed.run("install", "second", str(CHART), "--namespace", "second", "--create-namespace")


def test_the_default_pool_of_the_chart_is_one_that_the_api_server_takes(installed: Helm, kubectl: Kubectl):
    spec = yaml.safe_load((CHART / "values.yaml").read_text())["defaultPool"]
    pool = {"apiVersion": "managedjobs.dev/v1alpha1", "kind": "ControllerPool", "metadata": {"name": "default"}}
    assert create(kubectl, {**pool, "spec": spec}, "--dry-run=server", f"--as={OPERATOR}") == ""


@pytest.mark.parametrize(
    ("account", "verb", "resource", "where", "allowed"),
    [
        pytest.param(OPERATOR, "list", "managedjobs.managedjobs.dev", "default", True, id="operator lists jobs"),
        pytest.param(
            OPERATOR, "patch", "managedjobs.managedjobs.dev", "default", False, id="operator leaves specs alone"
        ),
        pytest.param(OPERATOR, "create", "pods", NAMESPACE, True, id="operator makes controller pods"),
        pytest.param(OPERATOR, "create", "pods", "default", False, id="operator makes no pods elsewhere"),
        pytest.param(OPERATOR, "list", "pods", "default", False, id="operator watches no pods of users"),
        pytest.param(OPERATOR, "get", "secrets", NAMESPACE, False, id="operator reads no secrets"),
        pytest.param(
            OPERATOR, "update", "leases/managedjobs-operator", NAMESPACE, True, id="operator holds its Lease"
        ),
        pytest.param(OPERATOR, "update", "leases/another", NAMESPACE, False, id="operator touches no other Lease"),
        pytest.param(CONTROLLER, "create", "jobs", "default", True, id="controller makes child Jobs"),
        pytest.param(
            CONTROLLER, "patch", "managedjobs.managedjobs.dev/status", "default", True, id="controller writes status"
        ),
        pytest.param(
            CONTROLLER, "patch", "managedjobs.managedjobs.dev", "default", False, id="controller leaves specs alone"
        ),
        pytest.param(CONTROLLER, "create", "pods", "default", False, id="controller makes no pods"),
        pytest.param(CONTROLLER, "get", "secrets", "default", False, id="controller reads no secrets"),
        pytest.param(CONTROLLER, "get", "nodes", "", False, id="controller reads no nodes"),
    ],
)
def test_the_api_server_grants(
    installed: Helm, kubectl: Kubectl, account: str, verb: str, resource: str, where: str, allowed: bool
):
    place = ["-n", where] if where else []
    resource, _, subresource = resource.partition("/")
    target = [f"{resource}/{subresource}"] if resource == "leases" else [resource]
    if subresource and resource != "leases":
        target.append(f"--subresource={subresource}")
    answer = kubectl("auth", "can-i", verb, *target, *place, f"--as={account}", check=False)
    assert answer.stdout.strip() == ("yes" if allowed else "no")


@pytest.mark.parametrize("where", ["kube-system", NAMESPACE])
def test_controllers_make_no_child_job_where_the_cluster_itself_lives(installed: Helm, kubectl: Kubectl, where: str):
    refusal = "managed jobs do not run in namespace " + where
    as_controller = f"--as={CONTROLLER}"
    wait_until(
        lambda: refusal in create(kubectl, child_job(where), as_controller, "--dry-run=server"),
        f"a refusal in {where}",
        SETTLE_SECONDS,
    )
    assert create(kubectl, child_job("default"), as_controller, "--dry-run=server") == ""
    assert create(kubectl, child_job("kube-system"), "--dry-run=server") == ""  # others are not concerned


def test_the_operator_creates_jobs_in_dry_run_only(installed: Helm, kubectl: Kubectl):
    as_operator = f"--as={OPERATOR}"

    def refused() -> bool:
        said = create(kubectl, child_job("default"), as_operator)
        return "the operator creates Jobs in dry run only" in said

    wait_until(refused, "a refusal of a Job that would stay", SETTLE_SECONDS)
    assert create(kubectl, child_job("default"), as_operator, "--dry-run=server") == ""


def test_a_claim_of_an_operator_that_lost_the_lease_is_refused(installed: Helm, kubectl: Kubectl):
    kubectl("delete", "lease", "managedjobs-operator", "-n", NAMESPACE, "--ignore-not-found")
    dry = ("--dry-run=server", f"--as={OPERATOR}")
    claims = {term: controller_pod(f"claim-{term}", term) for term in (None, 3, 4)}

    def admitted() -> set[int | None]:
        return {term for term, pod in claims.items() if not create(kubectl, pod, *dry)}

    wait_until(lambda: admitted() == set(), "no claim without a Lease", SETTLE_SECONDS)
    kubectl.apply(lease(3))
    wait_until(lambda: admitted() == {3}, "claims of term 3 only", SETTLE_SECONDS)
    kubectl.apply(lease(4))
    wait_until(lambda: admitted() == {4}, "claims of term 4 only", SETTLE_SECONDS)


def test_a_grant_of_an_operator_that_lost_the_lease_is_refused(installed: Helm, kubectl: Kubectl):
    kubectl.apply(managed_job("granted"), lease(7))
    as_operator = f"--as={OPERATOR}"
    assert patch_status(kubectl, "granted", {"schedule": {"state": "AliveWaiting"}}, as_operator) == ""

    def grant(term: int) -> str:
        status = {"schedule": {"state": "Launching", "leaderTerm": term}}
        return patch_status(kubectl, "granted", status, as_operator, "--dry-run=server")

    wait_until(
        lambda: "granted by the present leader only" in grant(6) and grant(7) == "",
        "grants of term 7 only",
        SETTLE_SECONDS,
    )
    kubectl("delete", "lease", "managedjobs-operator", "-n", NAMESPACE)
    wait_until(lambda: grant(6) == "", "no policy without a Lease", SETTLE_SECONDS)


def test_pools_and_priorities_are_for_those_who_have_the_verb_where_that_is_asked_for(
    installed: Helm, kubectl: Kubectl
):
    install(installed, values={"policies": {"poolUse": True, "prioritize": True}})
    kubectl("create", "rolebinding", "mia-edits", "--clusterrole=edit", "--user=mia", "-n", "default")
    kubectl("create", "clusterrole", "gold", "--verb=use,prioritize", "--resource=controllerpools.managedjobs.dev")
    as_mia = ("--as=mia", "--dry-run=server")

    def submit(**spec: object) -> str:
        return create(kubectl, managed_job("hers", **spec), *as_mia)

    wait_until(lambda: "you need the verb use" in submit(controllerPoolName="gold"), "pools guarded", SETTLE_SECONDS)
    wait_until(lambda: "you need the verb prioritize" in submit(priority=5), "priorities guarded", SETTLE_SECONDS)
    assert submit() == submit(priority=-5) == submit(controllerPoolName="default") == ""
    kubectl("create", "clusterrolebinding", "mia-gold", "--clusterrole=gold", "--user=mia")
    wait_until(lambda: submit(controllerPoolName="gold", priority=5) == "", "mia has the verbs", SETTLE_SECONDS)


def test_edit_may_submit_and_delete_jobs_but_not_write_their_status_and_view_may_look(
    installed: Helm, kubectl: Kubectl
):
    for role in ("view", "edit", "admin"):
        kubectl("create", "rolebinding", f"a-{role}", f"--clusterrole={role}", f"--user={role}er", "-n", "default")

    def may(user: str, verb: str, *more: str) -> bool:
        asked = ("auth", "can-i", verb, "managedjobs.managedjobs.dev", *more, "-n", "default", f"--as={user}er")
        return kubectl(*asked, check=False).stdout.strip() == "yes"

    wait_until(
        lambda: may("admin", "create") and may("edit", "create") and may("view", "watch"),
        "aggregation",
        SETTLE_SECONDS,
    )
    assert may("edit", "deletecollection")
    assert not may("view", "create")
    for user in ("view", "edit", "admin"):
        assert not may(user, "patch", "--subresource=status")
