"""The operator's Deployment and what stands around it."""

from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest

from managedjobs.api.controller_manifest import ControllerSettings
from managedjobs.settings import Settings, read_settings
from tests.chart.helm import Helm, HelmError, Rendered
from tests.chart.readme import CHART

pytestmark = pytest.mark.helm
Render = Callable[..., Rendered]

EVERYTHING: dict[str, Any] = {
    "podDisruptionBudget": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "metrics": {"serviceMonitor": {"enabled": True}},
    "controller": {"priorityClass": {"create": True}},
    "rbac": {"poolReader": {"create": True, "groups": ["system:authenticated"]}},
    "policies": {"poolUse": True, "prioritize": True},
    "commonLabels": {"team": "platform"},
}
DIGEST = "sha256:" + "ab" * 32


def pod_specs(rendered: Rendered) -> list[dict[str, Any]]:
    return [m["spec"]["template"]["spec"] for m in rendered.manifests if "template" in m.get("spec", {})]


def test_lint_finds_nothing_to_say(helm: Helm):
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART))
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART), values=EVERYTHING)


@pytest.mark.parametrize("version", ["1.30.0", "1.31.2-gke.1", "1.36.0"])
def test_kubernetes_from_1_30_on_will_do(helm: Helm, version: str):
    assert helm.render(kubernetes=version).manifests


def test_kubernetes_before_1_30_is_refused_and_told_why(helm: Helm):
    with pytest.raises(HelmError, match=r"requires kubeVersion: >=1\.30\.0"):
        helm.render(kubernetes="1.29.0")


def test_every_pod_and_container_is_hardened(render: Render):
    specs = pod_specs(render(EVERYTHING))
    assert specs
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 65532
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & spec.keys()
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            }
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


class Watched(UserDict[str, str]):
    """An environment that remembers what was asked for."""

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 -- the signature of Mapping.get
        self.asked.add(key)
        return super().get(key, default)


def told(rendered: Rendered) -> Watched:
    return Watched({**rendered.env, "MANAGEDJOBS_POD_NAME": "managedjobs-operator-x"})


def test_every_variable_that_the_operator_reads_is_set_and_no_other(render: Render):
    environment = told(render())
    read_settings(environment)
    assert environment.asked == {name for name in environment if name.startswith("MANAGEDJOBS_")}


def test_the_operator_understands_what_the_chart_tells_it_by_default(render: Render):
    assert read_settings(told(render())) == Settings(
        pod_name="managedjobs-operator-x",
        default_pool={"capacity": {"cpu": 2, "memory": "7700Mi"}},
        controller=ControllerSettings(image="managedjobs:0.1.0", image_pull_policy="IfNotPresent"),
    )


def test_the_operator_understands_values_of_ones_own(render: Render):
    rendered = render(
        {
            "image": {"registry": "registry.example", "pullPolicy": "Always"},
            "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
            "workloadNamespaces": ["team-a", "team-b"],
            "propagate": ["team", "example.com/cost"],
            "retention": {"keepJobs": False},
            "logLevel": "debug",
            "logFormat": "json",
            "defaultPool": {"capacity": None, "launchesPerCPU": 0.5, "memoryPerJob": "1Gi", "paused": True},
            "metrics": {"port": 9000},
            "operator": {"healthPort": 9001},
            "controller": {"priorityClassName": "high", "resources": {"requests": {"cpu": 0, "memory": "40Mi"}}},
        },
        release="mine",
        namespace="elsewhere",
    )
    assert read_settings(told(rendered)) == Settings(
        namespace="elsewhere",
        pod_name="managedjobs-operator-x",
        lease_name="mine-managedjobs-operator",
        workload_namespaces=("team-a", "team-b"),
        default_pool={"launchesPerCPU": 0.5, "memoryPerJob": "1Gi", "paused": True},
        health_port=9001,
        metrics_port=9000,
        log_level="debug",
        log_format="json",
        controller=ControllerSettings(
            namespace="elsewhere",
            image="registry.example/managedjobs:0.1.0",
            image_pull_policy="Always",
            image_pull_secrets=("one", "two"),
            service_account="mine-managedjobs-controller",
            priority_class="high",
            cpu_request="0",
            memory_request="40Mi",
            propagate_labels=("team", "example.com/cost"),
            keep_jobs=False,
            log_level="debug",
            log_format="json",
        ),
    )
    assert rendered.pod["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
    (container,) = rendered.pod["containers"]
    assert {p["name"]: p["containerPort"] for p in container["ports"]} == {"health": 9001, "metrics": 9000}


def test_the_operator_program_is_run_under_the_name_of_its_pod_and_with_what_else_the_values_add(render: Render):
    proxy = {"httpProxy": "http://p:1", "httpsProxy": "http://p:2", "noProxy": "10.96.0.0/12"}
    rendered = render({"proxy": proxy, "operator": {"extraEnv": [{"name": "TZ", "value": "UTC"}]}})
    (container,) = rendered.pod["containers"]
    assert container["args"] == ["operator"]
    names = {entry["name"]: entry.get("valueFrom") for entry in container["env"]}
    assert names["MANAGEDJOBS_POD_NAME"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    added = {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2", "NO_PROXY": "10.96.0.0/12", "TZ": "UTC"}
    assert added.items() <= rendered.env.items()


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param({}, "managedjobs:0.1.0", id="the chart's own version"),
        pytest.param({"tag": "1.2"}, "managedjobs:1.2", id="a tag"),
        pytest.param({"digest": DIGEST}, f"managedjobs@{DIGEST}", id="a digest"),
        pytest.param({"tag": "1.2", "digest": DIGEST}, f"managedjobs@{DIGEST}", id="a digest wins over a tag"),
        pytest.param(
            {"registry": "r.example:5000", "repository": "a/b", "tag": "x"}, "r.example:5000/a/b:x", id="a registry"
        ),
    ],
)
def test_the_operator_and_its_controller_pods_run_the_image_that_was_asked_for(
    render: Render, image: dict[str, str], expected: str
):
    rendered = render({"image": image})
    assert rendered.pod["containers"][0]["image"] == rendered.env["MANAGEDJOBS_IMAGE"] == expected


def test_probes_ask_the_health_port(render: Render):
    container = render().pod["containers"][0]
    asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert asked == {
        "startupProbe": {"path": "/healthz", "port": "health"},
        "livenessProbe": {"path": "/healthz", "port": "health"},
        "readinessProbe": {"path": "/readyz", "port": "health"},
    }


def test_a_new_operator_is_up_before_the_old_one_goes(render: Render):
    assert render().one("Deployment")["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }


def test_the_operator_is_placed_where_the_values_say(render: Render):
    toleration = {"key": "control", "operator": "Exists"}
    affinity: dict[str, Any] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    }
    pod = render(
        {
            "operator": {
                "nodeSelector": {"pool": "system"},
                "tolerations": [toleration],
                "affinity": affinity,
                "priorityClassName": "system-cluster-critical",
            },
            "podAnnotations": {"a": "b"},
        }
    ).pod
    assert pod["nodeSelector"] == {"pool": "system"}
    lost, mine = pod["tolerations"][:2], pod["tolerations"][2:]
    assert mine == [toleration]
    assert [(t["effect"], t["tolerationSeconds"]) for t in lost] == [("NoExecute", 20)] * 2
    assert pod["affinity"] == affinity
    assert pod["priorityClassName"] == "system-cluster-critical"


def test_a_spread_rule_counts_the_operators_own_pods_unless_it_says_otherwise(render: Render):
    own = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    given = {**own, "labelSelector": {"matchLabels": {"x": "y"}}}
    rendered = render({"operator": {"topologySpreadConstraints": [own, given]}})
    selector = rendered.one("Deployment")["spec"]["selector"]
    assert rendered.pod["topologySpreadConstraints"] == [{**own, "labelSelector": selector}, given]


def test_whatever_selects_the_operators_pods_finds_them_and_no_controller_pod(render: Render):
    rendered = render(EVERYTHING)
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        rendered.one("Deployment")["spec"]["selector"]["matchLabels"],
        rendered.one("Service")["spec"]["selector"],
        rendered.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        rendered.of("NetworkPolicy")["managedjobs-operator"]["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert selector["app.kubernetes.io/component"] == "operator"


def test_the_service_monitor_finds_the_service(render: Render):
    rendered = render(EVERYTHING)
    service, monitor = rendered.one("Service"), rendered.one("ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_a_service_monitor_without_the_service_is_refused(helm: Helm):
    with pytest.raises(HelmError, match=r"metrics\.service\.enabled"):
        helm.render({"metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}}})


def test_nobody_may_call_a_controller_pod_where_network_policies_are_on(render: Render):
    policy = render(EVERYTHING).of("NetworkPolicy")["managedjobs-controller"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy
    assert policy["podSelector"]["matchLabels"] == {
        "app.kubernetes.io/name": "managedjobs",
        "app.kubernetes.io/component": "controller",
    }


def test_controller_pods_get_the_priority_class_that_the_chart_makes_unless_another_is_named(render: Render):
    made = render({"controller": {"priorityClass": {"create": True}}})
    assert made.env["MANAGEDJOBS_CONTROLLER_PRIORITY_CLASS"] == made.one("PriorityClass")["metadata"]["name"]
    named = render({"controller": {"priorityClass": {"create": True}, "priorityClassName": "mine"}})
    assert named.env["MANAGEDJOBS_CONTROLLER_PRIORITY_CLASS"] == "mine"


def test_off_by_default_is_what_can_hurt_or_may_not_exist(render: Render):
    kinds = {manifest["kind"] for manifest in render().manifests}
    assert not kinds & {
        "PodDisruptionBudget",
        "NetworkPolicy",
        "ServiceMonitor",
        "PriorityClass",
        "Secret",
        "Namespace",
    }


def test_every_object_carries_the_labels_of_its_release(render: Render):
    crds_too = render(EVERYTHING).manifests
    for manifest in (m for m in crds_too if m["kind"] != "CustomResourceDefinition"):
        labels = manifest["metadata"]["labels"]
        assert labels["team"] == "platform", manifest["metadata"]["name"]
        assert labels["app.kubernetes.io/instance"] == "managedjobs"


def test_every_namespaced_object_says_its_namespace(render: Render):
    cluster_scoped = {
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "PriorityClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    for manifest in render(EVERYTHING).manifests:
        assert ("namespace" in manifest["metadata"]) == (manifest["kind"] not in cluster_scoped), manifest["metadata"]


def test_two_releases_share_no_name_but_those_of_the_crds(render: Render):
    def names(release: str) -> set[tuple[str, str]]:
        rendered = render(EVERYTHING, release=release)
        return {(m["kind"], m["metadata"]["name"]) for m in rendered.manifests}

    shared = names("managedjobs") & names("second")
    assert {kind for kind, _ in shared} <= {"CustomResourceDefinition"}


@pytest.mark.parametrize("release", ["second", "my-managedjobs", "a" * 53])
def test_names_stay_within_what_kubernetes_takes_whatever_the_release_is_called(render: Render, release: str):
    rendered = render(EVERYTHING, release=release)
    assert all(len(m["metadata"]["name"]) <= 63 for m in rendered.manifests)
    assert rendered.env["MANAGEDJOBS_CONTROLLER_SERVICE_ACCOUNT"] in rendered.of("ServiceAccount")
