"""Values: each is documented, misspelt ones are refused, and those that are false or 0 keep their meaning."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.chart import readme
from tests.chart.helm import Helm, HelmError, Rendered

pytestmark = pytest.mark.helm
Render = Callable[..., Rendered]

VALUES = (readme.CHART / "values.yaml").read_text()
DEFAULTS: dict[str, Any] = yaml.safe_load(VALUES)
SCHEMA: dict[str, Any] = json.loads((readme.CHART / "values.schema.json").read_text())
FREE_MAPS = {"strings", "quantities", "kubernetes", "global"}
"""Maps whose keys are the user's, or Kubernetes' own."""


def nested(path: str, value: object) -> dict[str, Any]:
    """{"a": {"b": value}} for "a.b"."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def paths_of(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from paths_of(value, f"{prefix}{key}.")


def test_every_value_has_a_comment_right_above_it():
    documented = {value.path: value.comment for value in readme.documented_values(VALUES)}
    assert list(documented) == list(paths_of(DEFAULTS))
    assert [path for path, comment in documented.items() if not comment.endswith(".")] == []


def test_the_readme_is_made_from_the_present_values():
    assert readme.README.read_text() == readme.rendered(), "run: python -m tests.chart.readme"


def closed_and_open_objects(schema: object, name: str = "") -> Iterator[tuple[str, bool]]:
    if isinstance(schema, dict):
        if "object" in (schema.get("type") or ()):
            yield name, schema.get("additionalProperties") is False
        for key, value in schema.items():
            yield from closed_and_open_objects(value, key)
    elif isinstance(schema, list):
        for value in schema:
            yield from closed_and_open_objects(value, name)


def test_the_schema_is_closed_but_for_maps_whose_keys_are_the_users():
    assert {name for name, closed in closed_and_open_objects(SCHEMA) if not closed} == FREE_MAPS


@pytest.mark.parametrize(
    "path",
    ["operatr", *(f"{path}.unheardOf" for path in paths_of(DEFAULTS) if isinstance(DEFAULTS.get(path), dict))],
)
def test_an_unknown_value_is_refused_by_name(helm: Helm, path: str):
    if path == "podAnnotations.unheardOf" or path == "commonLabels.unheardOf":
        assert helm.render(nested(path, "kept"))  # keys of the user's own
        return
    with pytest.raises(HelmError, match=path.rpartition(".")[2]):
        helm.render(nested(path, 1))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("operator.replicas", -1, id="fewer than no replicas"),
        pytest.param("operator.replicas", "two", id="replicas in words"),
        pytest.param("operator.terminationGracePeriodSeconds", 601, id="a stop that takes for ever"),
        pytest.param("image.tag", 1.2, id="a tag that YAML takes for a number"),
        pytest.param("image.digest", "sha256:beef", id="a digest cut short"),
        pytest.param("image.pullPolicy", "Sometimes", id="a pull policy of one's own"),
        pytest.param("imagePullSecrets", ["registry"], id="a pull secret without its name key"),
        pytest.param("logLevel", "loud", id="a log level of one's own"),
        pytest.param("logFormat", "xml", id="a log format of one's own"),
        pytest.param("workloadNamespaces", "team-a", id="one namespace that is no list"),
        pytest.param("workloadNamespaces", ["team-a", "team-a"], id="a namespace twice"),
        pytest.param("workloadNamespaces", ["team a"], id="a namespace with a space"),
        pytest.param("propagate", ["a,b"], id="a label key with the separator in it"),
        pytest.param("defaultPool.maxRunning", 0, id="a run cap of 0, which the CRD refuses too"),
        pytest.param("defaultPool.launchesPerCPU", 0, id="no launches per CPU"),
        pytest.param("defaultPool.capacity.memory", "7.7 gigs", id="memory that is no quantity"),
        pytest.param("defaultPool.maxRuning", 3, id="a misspelt field of the pool"),
        pytest.param("controller.resources.requests.cpu", "much", id="cpu that is no quantity"),
        pytest.param("controller.priorityClass.value", 2_000_000_000, id="a priority kept for the system"),
        pytest.param("metrics.port", 0, id="port 0"),
        pytest.param("metrics.serviceMonitor.interval", "often", id="an interval that is no duration"),
        pytest.param("podDisruptionBudget.maxUnavailable", "half", id="a share in words"),
        pytest.param("rbac.create", "yes", id="a text for a boolean"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name(helm: Helm, path: str, value: object):
    with pytest.raises(HelmError, match=path.rpartition(".")[2]):
        helm.render(nested(path, value))


def pool_spec_of_the_crd() -> dict[str, Any]:
    crd = yaml.safe_load((readme.CHART.parents[1] / "crds" / "controllerpools.yaml").read_text())
    spec: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return spec


def test_the_default_pool_takes_what_the_crd_takes():
    ours, theirs = SCHEMA["properties"]["defaultPool"]["properties"], pool_spec_of_the_crd()
    assert ours.keys() == theirs.keys()
    for field, schema in theirs.items():
        if schema.get("type") in ("integer", "number"):
            # draft 4, which CRDs speak, says "minimum: 0, exclusiveMinimum: true"; draft 7 says "exclusiveMinimum: 0"
            lowest = "exclusiveMinimum" if schema.get("exclusiveMinimum") else "minimum"
            assert ours[field][lowest] == schema["minimum"], field
            assert ours[field]["maximum"] == schema.get("maximum", 2**31 - 1), field


def pool(rendered: Rendered) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(rendered.env["MANAGEDJOBS_DEFAULT_POOL"])
    return spec


@pytest.mark.parametrize(
    ("values", "seen", "expected"),
    [
        pytest.param(
            nested("operator.replicas", 0), lambda r: r.one("Deployment")["spec"]["replicas"], 0, id="0 replicas"
        ),
        pytest.param(
            nested("operator.terminationGracePeriodSeconds", 0),
            lambda r: r.pod["terminationGracePeriodSeconds"],
            0,
            id="no grace",
        ),
        pytest.param(
            nested("operator.topologySpreadConstraints", []),
            lambda r: r.pod.get("topologySpreadConstraints"),
            None,
            id="no spread",
        ),
        pytest.param(
            nested("retention.keepJobs", False), lambda r: r.env["MANAGEDJOBS_KEEP_JOBS"], "false", id="keep no Jobs"
        ),
        pytest.param(
            nested("workloadNamespaces", []),
            lambda r: r.env["MANAGEDJOBS_WORKLOAD_NAMESPACES"],
            "",
            id="all namespaces",
        ),
        pytest.param(
            nested("propagate", []), lambda r: r.env["MANAGEDJOBS_PROPAGATE_LABELS"], "", id="no labels to propagate"
        ),
        pytest.param(
            nested("controller.priorityClassName", ""),
            lambda r: r.env["MANAGEDJOBS_CONTROLLER_PRIORITY_CLASS"],
            "",
            id="no priority class",
        ),
        pytest.param(
            nested("controller.resources.requests.cpu", 0),
            lambda r: r.env["MANAGEDJOBS_CONTROLLER_CPU_REQUEST"],
            "0",
            id="controller pods that ask for no cpu",
        ),
        pytest.param(
            nested("defaultPool.podsReservedPerNode", 0),
            lambda r: pool(r)["podsReservedPerNode"],
            0,
            id="0 reserved pods",
        ),
        pytest.param(nested("defaultPool.paused", False), lambda r: pool(r)["paused"], False, id="a pool not paused"),
        pytest.param(nested("defaultPool.nodeSelector", {}), lambda r: pool(r)["nodeSelector"], {}, id="no selector"),
        pytest.param(nested("defaultPool.tolerations", []), lambda r: pool(r)["tolerations"], [], id="no tolerations"),
        pytest.param(nested("defaultPool.capacity", None), pool, {}, id="the nodes' own capacity"),
        pytest.param(
            nested("defaultPool", None), lambda r: r.env.get("MANAGEDJOBS_DEFAULT_POOL"), None, id="no default pool"
        ),
        pytest.param(
            nested("podDisruptionBudget", {"enabled": True, "maxUnavailable": 0}),
            lambda r: r.one("PodDisruptionBudget")["spec"]["maxUnavailable"],
            0,
            id="no pod may be away",
        ),
        pytest.param(
            nested("podDisruptionBudget", {"enabled": True, "minAvailable": 0}),
            lambda r: r.one("PodDisruptionBudget")["spec"]["minAvailable"],
            0,
            id="no pod must stay",
        ),
        pytest.param(
            nested("controller.priorityClass", {"create": True, "value": 0}),
            lambda r: r.one("PriorityClass")["value"],
            0,
            id="a priority of 0",
        ),
        pytest.param(nested("metrics.service.enabled", False), lambda r: r.of("Service"), {}, id="no metrics Service"),
        pytest.param(
            nested("rbac.aggregate", False), lambda r: "managedjobs-edit" in r.of("ClusterRole"), False, id="no edit"
        ),
        pytest.param(
            {"rbac": {"create": False, "aggregate": False}}, lambda r: list(r.rules()), [], id="no roles whatsoever"
        ),
        pytest.param(
            {"policies": dict.fromkeys(DEFAULTS["policies"], False)},
            lambda r: (r.of("ValidatingAdmissionPolicy"), r.of("ValidatingAdmissionPolicyBinding")),
            ({}, {}),
            id="no policies",
        ),
        pytest.param(nested("crds.install", False), lambda r: r.of("CustomResourceDefinition"), {}, id="no CRDs"),
    ],
)
def test_a_value_that_is_false_or_empty_or_0_keeps_its_meaning(
    render: Render, values: dict[str, Any], seen: Callable[[Rendered], object], expected: object
):
    assert seen(render(values)) == expected


def test_the_default_pool_gives_8_launch_slots_and_22_run_slots(render: Render):
    assert pool(render()) == {"capacity": {"cpu": 2, "memory": "7700Mi"}}
    assert (2 * 4, 7700 // 350) == (8, 22)


def test_text_of_a_user_reaches_the_operator_unharmed(render: Render):
    selector = {"team": 'a "b" <c> & d: {e} #f'}
    assert pool(render(nested("defaultPool.nodeSelector", selector)))["nodeSelector"] == selector
