"""What a real API server lets each account do once the chart is installed: its roles and its policies at work."""

import pytest
import yaml

from tests.chart.cluster import (
    CONTROLLER,
    NAMESPACE,
    OPERATOR,
    SETTLE_SECONDS,
    child_job,
    controller_pod,
    create,
    install,
    lease,
    managed_job,
    patch_status,
)
from tests.chart.helm import Helm
from tests.chart.readme import CHART
from tests.cluster.console import wait_until
from tests.support.cluster_fixtures import Kubectl

pytestmark = [pytest.mark.helm, pytest.mark.controlplane, pytest.mark.usefixtures("installed")]

JOBS = "managedjobs.managedjobs.dev"
DRY = "--dry-run=server"


@pytest.fixture(scope="module", autouse=True)
def installed(on_cluster: Helm, kubectl: Kubectl) -> None:
    """One installation for all tests here, with the policies that are off by default."""
    install(on_cluster, kubectl, values={"policies": {"poolUse": True, "prioritize": True}})


def test_the_default_pool_of_the_chart_is_one_that_the_api_server_takes(kubectl: Kubectl):
    spec = yaml.safe_load((CHART / "values.yaml").read_text())["defaultPool"]
    pool = {"apiVersion": "managedjobs.dev/v1alpha1", "kind": "ControllerPool", "metadata": {"name": "default"}}
    assert create(kubectl, {**pool, "spec": spec}, DRY, f"--as={OPERATOR}") == ""


@pytest.mark.parametrize(
    ("account", "asked", "where", "allowed"),
    [
        pytest.param(OPERATOR, ["list", JOBS], "default", True, id="operator lists jobs"),
        pytest.param(OPERATOR, ["patch", JOBS], "default", False, id="operator leaves specs alone"),
        pytest.param(OPERATOR, ["create", "pods"], NAMESPACE, True, id="operator makes controller pods"),
        pytest.param(OPERATOR, ["create", "pods"], "default", False, id="operator makes no pods elsewhere"),
        pytest.param(OPERATOR, ["list", "pods"], "default", False, id="operator watches no pods of users"),
        pytest.param(OPERATOR, ["get", "secrets"], NAMESPACE, False, id="operator reads no secrets"),
        pytest.param(OPERATOR, ["patch", "lease/managedjobs-operator"], NAMESPACE, True, id="operator's own Lease"),
        pytest.param(OPERATOR, ["patch", "lease/another"], NAMESPACE, False, id="no other Lease for the operator"),
        pytest.param(CONTROLLER, ["create", "jobs.batch"], "default", True, id="controller makes child Jobs"),
        pytest.param(CONTROLLER, ["patch", JOBS, "--subresource=status"], "default", True, id="controller: status"),
        pytest.param(CONTROLLER, ["patch", JOBS], "default", False, id="controller leaves specs alone"),
        pytest.param(CONTROLLER, ["create", "pods"], "default", False, id="controller makes no pods"),
        pytest.param(CONTROLLER, ["get", "secrets"], "default", False, id="controller reads no secrets"),
        pytest.param(CONTROLLER, ["get", "node/any"], "default", True, id="controller looks at one node"),
        pytest.param(CONTROLLER, ["list", "nodes"], "default", False, id="controller watches no nodes"),
    ],
)
def test_the_api_server_grants(kubectl: Kubectl, account: str, asked: list[str], where: str, allowed: bool):
    answer = kubectl("auth", "can-i", *asked, "-n", where, f"--as={account}", check=False)
    assert answer.stdout.strip() == ("yes" if allowed else "no"), answer.stderr


@pytest.mark.parametrize("where", ["kube-system", NAMESPACE])
def test_controllers_make_no_child_job_where_the_cluster_itself_lives(kubectl: Kubectl, where: str):
    as_controller = f"--as={CONTROLLER}"

    def refused() -> bool:
        said = create(kubectl, child_job(where), as_controller, DRY)
        return f"managed jobs do not run in namespace {where}" in said

    wait_until(refused, f"a refusal in {where}", SETTLE_SECONDS)
    assert create(kubectl, child_job("default"), as_controller, DRY) == ""
    assert create(kubectl, child_job(where), DRY) == "", "others are not concerned"


def test_the_operator_creates_jobs_in_dry_run_only(kubectl: Kubectl):
    as_operator = f"--as={OPERATOR}"

    def refused() -> bool:
        return "the operator creates Jobs in dry run only" in create(kubectl, child_job("default"), as_operator)

    wait_until(refused, "a refusal of a Job that would stay", SETTLE_SECONDS)
    assert create(kubectl, child_job("default"), as_operator, DRY) == ""


def test_a_claim_of_an_operator_that_lost_the_lease_is_refused(kubectl: Kubectl):
    kubectl("delete", "lease", "managedjobs-operator", "-n", NAMESPACE, "--ignore-not-found")
    claims = {term: controller_pod(f"claim-{term}", term) for term in (None, 3, 4)}

    def admitted() -> set[int | None]:
        return {term for term, pod in claims.items() if not create(kubectl, pod, DRY, f"--as={OPERATOR}")}

    wait_until(lambda: admitted() == set(), "no claim without a Lease", SETTLE_SECONDS)
    kubectl.apply(lease(3))
    wait_until(lambda: admitted() == {3}, "claims of term 3 only", SETTLE_SECONDS)
    kubectl.apply(lease(4))
    wait_until(lambda: admitted() == {4}, "claims of term 4 only", SETTLE_SECONDS)


def test_a_grant_of_an_operator_that_lost_the_lease_is_refused(kubectl: Kubectl):
    kubectl.apply(managed_job("granted"), lease(7))
    assert patch_status(kubectl, "granted", {"schedule": {"state": "AliveWaiting"}}) == ""

    def grant(term: int) -> str:
        return patch_status(kubectl, "granted", {"schedule": {"state": "Launching", "leaderTerm": term}}, DRY)

    def only_of_the_present_term() -> bool:
        return "granted by the present leader only" in grant(6) and grant(7) == ""

    wait_until(only_of_the_present_term, "grants of term 7 only", SETTLE_SECONDS)
    assert patch_status(kubectl, "granted", {"reason": "Backoff"}, DRY) == "", "other writes need no term"
    kubectl("delete", "lease", "managedjobs-operator", "-n", NAMESPACE)
    wait_until(lambda: grant(6) == "", "no fence for grants without a Lease", SETTLE_SECONDS)


def test_pools_and_priorities_are_for_those_who_have_the_verb_where_that_is_asked_for(kubectl: Kubectl):
    kubectl("create", "rolebinding", "mia-edits", "--clusterrole=edit", "--user=mia", "-n", "default")
    rule = {"apiGroups": ["managedjobs.dev"], "resources": ["controllerpools"], "resourceNames": ["gold"]}
    kubectl.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "gold"},
            "rules": [{**rule, "verbs": ["use", "prioritize"]}],
        }
    )

    def submit(**spec: object) -> str:
        return create(kubectl, managed_job("hers", **spec), "--as=mia", DRY)

    wait_until(lambda: submit() == "", "the right to submit", SETTLE_SECONDS)
    wait_until(lambda: "verb use on" in submit(controllerPoolName="gold"), "pools guarded", SETTLE_SECONDS)
    wait_until(lambda: "verb prioritize on" in submit(priority=5), "priorities guarded", SETTLE_SECONDS)
    assert submit(priority=-5) == submit(controllerPoolName="default") == ""
    kubectl("create", "clusterrolebinding", "mia-gold", "--clusterrole=gold", "--user=mia")
    wait_until(lambda: submit(controllerPoolName="gold", priority=5) == "", "mia has the verbs", SETTLE_SECONDS)
    assert "verb prioritize on" in submit(priority=5), "her verb is for the pool gold only"


def test_a_job_whose_priority_somebody_else_raised_can_still_be_cancelled(kubectl: Kubectl):
    kubectl("create", "rolebinding", "noa-edits", "--clusterrole=edit", "--user=noa", "-n", "default")
    kubectl.apply(managed_job("raised", priority=100))

    def noa(patch: str) -> str:
        edit = ("patch", "managedjob", "raised", "-n", "default", "--type=merge", "--patch", patch, "--as=noa", DRY)
        done = kubectl(*edit, check=False)
        return done.stderr if done.returncode else ""

    wait_until(lambda: noa('{"spec": {"cancel": true}}') == "", "noa may cancel", SETTLE_SECONDS)
    assert "verb prioritize on" in noa('{"spec": {"priority": 101}}')
    assert noa('{"spec": {"priority": 0}}') == ""


def test_edit_may_submit_and_delete_jobs_but_not_write_their_status_and_view_may_look(kubectl: Kubectl):
    for role in ("view", "edit", "admin"):
        kubectl("create", "rolebinding", f"a-{role}", f"--clusterrole={role}", f"--user={role}er", "-n", "default")

    def may(role: str, verb: str, *more: str) -> bool:
        asked = ("auth", "can-i", verb, JOBS, *more, "-n", "default", f"--as={role}er")
        return kubectl(*asked, check=False).stdout.strip() == "yes"

    def aggregated() -> bool:
        return may("admin", "create") and may("edit", "create") and may("view", "watch")

    wait_until(aggregated, "the roles aggregated", SETTLE_SECONDS)
    assert may("edit", "deletecollection")
    assert not may("view", "create")
    for role in ("view", "edit", "admin"):
        assert not may(role, "patch", "--subresource=status")
