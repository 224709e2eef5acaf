"""Install, upgrade, uninstall and install again on a real API server: what goes, and what stays."""

import textwrap
from collections.abc import Iterator

import pytest

from tests.chart.cluster import (
    CRDS,
    IN_RELEASE,
    NAMESPACE,
    RELEASE,
    SETTLE_SECONDS,
    controller_pod,
    create,
    install,
    lease,
    managed_job,
    uninstall,
)
from tests.chart.helm import Helm, HelmError
from tests.chart.readme import CHART
from tests.cluster.console import wait_until
from tests.support.cluster_fixtures import Kubectl

pytestmark = [pytest.mark.helm, pytest.mark.controlplane]


@pytest.fixture
def installed(on_cluster: Helm, kubectl: Kubectl) -> Iterator[Helm]:
    """The chart as it comes; gone again after the test, apart from what it keeps."""
    install(on_cluster, kubectl)
    yield on_cluster
    uninstall(on_cluster)


def test_the_api_server_takes_the_chart_in_a_dry_run(on_cluster: Helm, kubectl: Kubectl):
    kubectl("create", "namespace", NAMESPACE, check=False)
    everything = {
        "podDisruptionBudget": {"enabled": True},
        "networkPolicy": {"enabled": True},
        "controller": {"priorityClass": {"create": True}},
        "rbac": {"poolReader": {"create": True, "groups": ["system:authenticated"]}},
        "policies": {"poolUse": True, "prioritize": True},
        "workloadNamespaces": ["default"],
    }
    shown = on_cluster.run("install", RELEASE, str(CHART), *IN_RELEASE, "--dry-run=server", values=everything)
    assert "STATUS: pending-install" in shown
    assert "deleting the CustomResourceDefinition managedjobs.managedjobs.dev deletes EVERY ManagedJob" in shown


def test_the_notes_end_with_a_first_job_that_works_as_it_stands(installed: Helm, kubectl: Kubectl):
    notes = installed.run("get", "notes", RELEASE, *IN_RELEASE)
    assert "rollout status deployment/managedjobs-operator" in notes
    indented = notes.partition("<<'JOB'\n")[2].partition("  JOB\n")[0]
    kubectl("create", "-n", "default", "--dry-run=server", "-f", "-", input=textwrap.dedent(indented))


def test_jobs_and_crds_outlive_an_uninstall_and_a_new_installation_takes_them_over(installed: Helm, kubectl: Kubectl):
    kubectl.apply(managed_job("keeper"))

    def uids() -> list[str]:
        kept = [kubectl.get("managedjob", "keeper", "-n", "default"), *(kubectl.get("crd", name) for name in CRDS)]
        return [thing["metadata"]["uid"] for thing in kept]

    before = uids()
    install(installed, kubectl, values={"operator": {"replicas": 2}, "workloadNamespaces": ["default"]})
    assert kubectl.get("deployment", "managedjobs-operator", "-n", NAMESPACE)["spec"]["replicas"] == 2
    assert kubectl.get("rolebinding", "-n", "default")["items"]
    uninstall(installed)

    of_release = ("-l", f"app.kubernetes.io/instance={RELEASE}", "-o", "name")
    namespaced = "deployment,service,serviceaccount,role,rolebinding"
    assert kubectl("get", namespaced, "--all-namespaces", *of_release).stdout == ""
    everywhere = "clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
    left = kubectl("get", everywhere, *of_release).stdout.split()
    assert {name.partition("/")[2] for name in left} == {"managedjobs-lease-watch"}
    assert uids() == before

    install(installed, kubectl)
    assert uids() == before


def test_a_new_installation_fences_by_the_present_lease_and_not_by_one_it_remembers(installed: Helm, kubectl: Kubectl):
    def admits(term: int | None) -> bool:
        return not create(kubectl, controller_pod("claim", term), "--dry-run=server")

    kubectl.apply(lease(1))
    wait_until(lambda: admits(1) and not admits(None), "claims of term 1 only", SETTLE_SECONDS)
    uninstall(installed)
    kubectl("create", "serviceaccount", "managedjobs-controller", "-n", NAMESPACE)  # without it no pod is taken
    wait_until(lambda: admits(None), "the fence gone from the API server", SETTLE_SECONDS)
    kubectl("delete", "serviceaccount", "managedjobs-controller", "-n", NAMESPACE)
    install(installed, kubectl)
    kubectl.apply(lease(2))
    wait_until(lambda: admits(2) and not admits(1), "claims of term 2 only", SETTLE_SECONDS)


def test_controller_pods_go_with_the_account_that_owns_them(installed: Helm, kubectl: Kubectl):
    kubectl.apply(lease(1))
    account = kubectl.get("serviceaccount", "managedjobs-controller", "-n", NAMESPACE)["metadata"]
    pod = controller_pod("owned", term=1)
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": account["name"], "uid": account["uid"]}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    wait_until(lambda: not create(kubectl, pod), "the pod admitted", SETTLE_SECONDS)
    uninstall(installed)
    look = ("get", "pod", "owned", "-n", NAMESPACE)
    wait_until(lambda: kubectl(*look, check=False).returncode != 0, "the pod collected", SETTLE_SECONDS)


def test_a_second_installation_in_one_cluster_is_refused_by_helm(installed: Helm):
    with pytest.raises(HelmError, match="invalid ownership metadata"):
        installed.run("install", "second", str(CHART), "--namespace", "second", "--create-namespace")
