"""Who may do what: one rule per need, and no more than the code needs."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.chart.helm import Helm, HelmError, Rendered
from tests.chart.readme import CHART

pytestmark = pytest.mark.helm
Render = Callable[..., Rendered]
Right = tuple[str, str, str]
"""API group, resource, verb."""

MJ = "managedjobs.dev"
OPERATOR = "managedjobs-operator"
CONTROLLER = "managedjobs-controller"

EVERYWHERE = "*"
RELEASE = "managedjobs-system"

NEEDED: dict[str, dict[str, set[Right]]] = {
    OPERATOR: {
        EVERYWHERE: {
            *product([MJ], ["controllerpools"], ["get", "list", "watch", "create"]),
            (MJ, "controllerpools/status", "patch"),
            *product([""], ["nodes"], ["get", "list", "watch"]),
            ("apiextensions.k8s.io", "customresourcedefinitions", "get"),
        },
        "jobs": {
            *product([MJ], ["managedjobs"], ["get", "list", "watch", "delete"]),
            (MJ, "managedjobs/status", "patch"),
            (MJ, "managedjobs/finalizers", "update"),
            *product(["batch"], ["jobs"], ["get", "create", "patch", "delete"]),
            *product(["events.k8s.io"], ["events"], ["create", "patch"]),
        },
        RELEASE: {
            *product([""], ["pods"], ["get", "list", "watch", "create", "delete"]),
            ("", "serviceaccounts", "get"),
            *product(["coordination.k8s.io"], ["leases"], ["create", "get", "patch"]),
        },
    },
    CONTROLLER: {
        EVERYWHERE: {("", "nodes", "get")},
        "jobs": {
            *product([MJ], ["managedjobs"], ["get", "list", "watch"]),
            (MJ, "managedjobs/status", "patch"),
            (MJ, "managedjobs/finalizers", "update"),
            *product(["batch"], ["jobs"], ["get", "list", "watch", "create", "patch", "delete"]),
            *product([""], ["pods"], ["get", "list", "watch", "delete"]),
            ("", "pods/log", "get"),
            *product([""], ["services"], ["get", "create"]),
            *product(["events.k8s.io"], ["events"], ["list", "create", "patch"]),
        },
        RELEASE: set(),
    },
}


def rights_of(role: dict[str, Any]) -> set[Right]:
    return {right for rule in role["rules"] for right in product(rule["apiGroups"], rule["resources"], rule["verbs"])}


def granted(rendered: Rendered, account: str) -> dict[str, set[Right]]:
    """What the account may do, by namespace; EVERYWHERE for what a ClusterRoleBinding gives."""
    found: dict[str, set[Right]] = {}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in rendered.of(kind).values():
            if {"kind": "ServiceAccount", "name": account, "namespace": RELEASE} in binding["subjects"]:
                place = binding["metadata"].get("namespace", EVERYWHERE)
                role = rendered.of(binding["roleRef"]["kind"])[binding["roleRef"]["name"]]
                found.setdefault(place, set()).update(rights_of(role))
    return found


def expected(account: str, namespaces: list[str]) -> dict[str, set[Right]]:
    needed = NEEDED[account]
    places: dict[str, set[Right]] = {EVERYWHERE: set(needed[EVERYWHERE]), RELEASE: set(needed[RELEASE])}
    for place in namespaces or [EVERYWHERE]:
        places.setdefault(place, set()).update(needed["jobs"])
    return {place: rights for place, rights in places.items() if rights}


@pytest.mark.parametrize("namespaces", [[], ["team-a", "team-b"]], ids=["all namespaces", "two namespaces"])
@pytest.mark.parametrize("account", [OPERATOR, CONTROLLER])
def test_an_account_has_the_rights_that_the_code_needs_and_no_other(
    render: Render, account: str, namespaces: list[str]
):
    assert granted(render({"workloadNamespaces": namespaces}), account) == expected(account, namespaces)


def test_no_rule_holds_a_wildcard_or_secrets(render: Render):
    rendered = render({"rbac": {"poolReader": {"create": True}}})
    rules = list(rendered.rules())
    assert rules
    for role, rule in rules:
        words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"], *rule.get("resourceNames", [])]
        assert not [word for word in words if "*" in word], role
        assert not [word for word in words if "secrets" in word], role
        assert not {"escalate", "bind", "impersonate"} & set(words), role


def test_only_these_two_crds_this_lease_and_this_account_may_be_read(render: Render):
    named = {
        resource: rule["resourceNames"]
        for _, rule in render().rules()
        for resource in rule["resources"]
        if "resourceNames" in rule
    }
    assert named == {
        "customresourcedefinitions": ["managedjobs.managedjobs.dev", "controllerpools.managedjobs.dev"],
        "serviceaccounts": [CONTROLLER],
        "leases": [OPERATOR],
    }


def test_every_rule_says_what_it_is_for_right_above_it():
    for path in CHART.glob("templates/**/rbac.yaml"):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if not re.match(r"\s+- apiGroups:", line) or path.parent.name == "users":
                continue
            above = lines[number - 1].strip()
            same_need = lines[number - 3].strip() == line.strip()  # the half that can't be limited by name
            assert above.startswith("# ") or same_need, f"{path.name}:{number + 1}"


def test_users_roles_are_added_to_those_of_kubernetes_and_never_touch_status(render: Render):
    roles = render().of("ClusterRole")
    label = "rbac.authorization.k8s.io/aggregate-to-"
    view, edit = roles["managedjobs-view"], roles["managedjobs-edit"]
    assert {k for k in view["metadata"]["labels"] if k.startswith(label)} == {f"{label}view"}
    assert {k for k in edit["metadata"]["labels"] if k.startswith(label)} == {f"{label}edit", f"{label}admin"}
    reading = set(product([MJ], ["managedjobs"], ["get", "list", "watch"]))
    writing = set(product([MJ], ["managedjobs"], ["create", "update", "patch", "delete", "deletecollection"]))
    assert rights_of(view) == reading
    assert rights_of(edit) == reading | writing


def test_the_pool_reader_is_made_and_bound_by_value(render: Render):
    name = "managedjobs-pool-reader"
    assert name not in render().of("ClusterRole")
    unbound = render({"rbac": {"poolReader": {"create": True}}})
    assert rights_of(unbound.of("ClusterRole")[name]) == set(
        product([MJ], ["controllerpools"], ["get", "list", "watch"])
    )
    assert name not in unbound.of("ClusterRoleBinding")
    bound = render({"rbac": {"poolReader": {"create": True, "groups": ["research"]}}})
    assert [s["name"] for s in bound.of("ClusterRoleBinding")[name]["subjects"]] == ["research"]


def test_accounts_of_the_chart_give_no_token_to_pods_that_do_not_ask(render: Render):
    accounts = render({"serviceAccount": {"operator": {"annotations": {"a": "b"}}}}).of("ServiceAccount")
    assert accounts.keys() == {OPERATOR, CONTROLLER}
    assert all(account["automountServiceAccountToken"] is False for account in accounts.values())
    assert accounts[OPERATOR]["metadata"]["annotations"] == {"a": "b"}


def test_an_account_that_exists_is_used_by_name_everywhere(render: Render):
    rendered = render({"serviceAccount": {"controller": {"create": False, "name": "ours"}}})
    assert rendered.of("ServiceAccount").keys() == {OPERATOR}
    assert rendered.env["MANAGEDJOBS_CONTROLLER_SERVICE_ACCOUNT"] == "ours"
    assert granted(rendered, "ours") == expected(CONTROLLER, [])
    policy = rendered.of("ValidatingAdmissionPolicy")["managedjobs-controller-namespaces"]
    condition = policy["spec"]["matchConditions"][0]["expression"]
    assert "system:serviceaccount:managedjobs-system:ours" in condition


def test_an_account_that_is_neither_made_nor_named_is_refused(helm: Helm):
    with pytest.raises(HelmError, match=r"serviceAccount\.controller\.name"):
        helm.render({"serviceAccount": {"controller": {"create": False}}})


@pytest.mark.parametrize(
    ("value", "policies"),
    [
        pytest.param("controllerNamespaces", {"managedjobs-controller-namespaces"}, id="controllers' namespaces"),
        pytest.param("operatorDryRun", {"managedjobs-operator-dry-run"}, id="dry run"),
        pytest.param(
            "leaderFence",
            {"managedjobs-leader-pods", "managedjobs-leader-grants", "managedjobs-lease-watch"},
            id="leader",
        ),
        pytest.param("poolUse", {"managedjobs-pool-use"}, id="pool"),
        pytest.param("prioritize", {"managedjobs-prioritize"}, id="priority"),
    ],
)
def test_each_policy_has_its_switch_and_its_binding(render: Render, value: str, policies: set[str]):
    off = dict.fromkeys(["controllerNamespaces", "operatorDryRun", "leaderFence", "poolUse", "prioritize"], False)
    rendered = render({"policies": {**off, value: True}})
    assert rendered.of("ValidatingAdmissionPolicy").keys() == policies
    bindings = rendered.of("ValidatingAdmissionPolicyBinding")
    assert {binding["spec"]["policyName"] for binding in bindings.values()} == policies
    assert all(binding["spec"]["validationActions"] == ["Deny"] for binding in bindings.values())


def test_without_a_lease_no_controller_pod_is_made_but_status_writes_go_on(render: Render):
    bindings = render().of("ValidatingAdmissionPolicyBinding")
    assert {
        name: binding["spec"]["paramRef"]["parameterNotFoundAction"]
        for name, binding in bindings.items()
        if "paramRef" in binding["spec"]
    } == {
        "managedjobs-leader-pods": "Deny",
        "managedjobs-leader-grants": "Allow",
        "managedjobs-lease-watch": "Allow",
    }
