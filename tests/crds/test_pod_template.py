"""The pod template: what a pod may have is accepted and kept as it is; a misspelt field is refused."""

import json

import pytest

from tests.crds.objects import CONTAINER, CRDS, SHORT, TASKS, TEMPLATE, Manifest, fields, job, pool, program, put
from tests.crds.server import Server
from tests.crds.templates import FULL

pytestmark = pytest.mark.controlplane

_POD = "template.spec"
_MANY: Manifest = {"template": FULL, "replicas": 2, "userMetadata": {"team": "a"}}
_SHORT_FORM: Manifest = {"image": "busybox", "args": ["a"], "env": FULL["spec"]["containers"][0]["env"]}
_PIPELINE: Manifest = {"tasks": [{"name": "first", "template": FULL}, {"name": "second", **_SHORT_FORM}]}
JOBS = [
    pytest.param(_MANY, id="a template with ports, probes, resources and lists of named things"),
    pytest.param(_SHORT_FORM, id="the short form"),
    pytest.param(_PIPELINE, id="a pipeline of both"),
]


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        pytest.param(job(put(SHORT, "imge", "x")), "spec.imge", id="of the short form"),
        pytest.param(job(put(TEMPLATE, "template.metdata", {})), "spec.template.metdata", id="of the template"),
        pytest.param(job(put(TEMPLATE, "template.metadata.lables", {})), "lables", id="of its metadata"),
        pytest.param(job(put(TEMPLATE, f"{_POD}.containers[].comand", ["x"])), "comand", id="of a container"),
        pytest.param(job(put(TEMPLATE, f"{_POD}.containers[].env[].valu", "x")), "valu", id="of a variable"),
        pytest.param(job(put(TEMPLATE, f"{_POD}.volumes[].emptydir", {})), "emptydir", id="of a volume"),
        pytest.param(job(put(TASKS, "tasks[].template.spec.nodeselector", {})), "nodeselector", id="of a task"),
        pytest.param(job(put(SHORT, "recovery.backof", {})), "spec.recovery.backof", id="of the recovery"),
        pytest.param(job(put(SHORT, "env[].vale", "x")), "spec.env[0].vale", id="of a variable in the short form"),
        pytest.param(
            pool({"tolerations": [{"efect": "x"}]}), "spec.tolerations[0].efect", id="of a pool's toleration"
        ),
        # The server refuses it in every pod template: it is for debugging a pod that runs.
        pytest.param(
            job(put(TEMPLATE, f"{_POD}.ephemeralContainers", [])), "ephemeralContainers", id="of what no template has"
        ),
    ],
)
def test_an_unknown_field_is_refused_by_its_name(server: Server, manifest: Manifest, field: str) -> None:
    said = server.refusal(manifest)
    assert "unknown field" in said
    assert field in said


@pytest.mark.parametrize("spec", JOBS)
def test_a_second_apply_changes_nothing(server: Server, spec: Manifest) -> None:
    words = server.store(job(spec, "twice")) + server.store(job(spec, "twice"))
    server.clear()
    assert words == ["created", "unchanged"]


@pytest.mark.parametrize("spec", JOBS)
def test_a_second_server_side_apply_changes_nothing(server: Server, spec: Manifest) -> None:
    stored = []
    for _ in range(2):
        assert server.apply(job(spec, "twice"), flags=["--server-side"]).returncode == 0
        stored.append(server.get("mj", "twice", "--show-managed-fields"))
        # The first one moves it without a change: only then is the default status written down.
        del stored[-1]["metadata"]["resourceVersion"]
    server.clear()
    assert stored[0] == stored[1]


@pytest.mark.parametrize("flags", [[], ["--server-side"]], ids=["client-side apply", "server-side apply"])
def test_what_kubectl_leaves_behind_in_a_template_is_ignored(server: Server, flags: list[str]) -> None:
    left_over = {"metadata": {"name": "pod", "creationTimestamp": None}, **TEMPLATE["template"]}
    said = [server.apply(job(spec, "left-over"), flags=flags).stderr for spec in ({"template": left_over},) * 2]
    stored = server.get("mj", "left-over")["spec"]["template"]["metadata"]
    server.clear()
    assert said == ["", ""]
    assert stored.get("creationTimestamp") is None


@pytest.mark.parametrize("spec", JOBS)
def test_the_job_is_stored_as_it_was_written(server: Server, spec: Manifest) -> None:
    server.store(job(spec, "kept"))
    stored = server.get("mj", "kept")["spec"]
    server.clear()
    # These two have defaults, for the columns of `kubectl get`.
    assert (stored.pop("priority"), stored.pop("controllerPoolName")) == (0, "default")
    assert stored == spec


def test_the_server_takes_the_same_template_in_a_batch_job(server: Server) -> None:
    batch = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "same"}, "spec": {"template": FULL}}
    assert server.refusal(batch) == ""


def _unnamed(count: int) -> list[Manifest]:
    return [{"name": f"c{n}", "image": "x"} for n in range(count)]


CASES = [
    pytest.param(f"{_POD}.restartPolicy", "Never", "Always", id="pods are not restarted in place"),
    pytest.param(f"{_POD}.restartPolicy", "Never", "OnFailure", id="containers are not restarted in place"),
    pytest.param(f"{_POD}.restartPolicy", "Never", "", id="an empty restart policy is none"),
    pytest.param(f"{_POD}.containers", _unnamed(1), [], id="there is a container"),
    pytest.param(f"{_POD}.containers", _unnamed(64), _unnamed(65), id="there are at most 64 containers"),
    pytest.param(f"{_POD}.initContainers", _unnamed(64), _unnamed(65), id="there are at most 64 init containers"),
    pytest.param(
        f"{_POD}.volumes",
        [{"name": f"v{n}"} for n in range(256)],
        [{"name": f"v{n}"} for n in range(257)],
        id="there are at most 256 volumes",
    ),
    pytest.param(f"{_POD}.containers[].name", "n" * 63, "n" * 64, id="a container's name has at most 63 characters"),
    pytest.param(f"{_POD}.containers[].name", "train-1", "Train_1", id="a container's name is a DNS label"),
    pytest.param(f"{_POD}.initContainers[].name", "n" * 63, "n" * 64, id="so has an init container's"),
    pytest.param(f"{_POD}.initContainers[].name", "a", "a.b", id="an init container's name is a DNS label"),
    pytest.param(f"{_POD}.volumes[].name", "v" * 63, "v" * 64, id="a volume's name has at most 63 characters"),
    pytest.param(f"{_POD}.volumes[].name", "v", "-v", id="a volume's name is a DNS label"),
    pytest.param(f"{_POD}.containers", [CONTAINER], [CONTAINER, CONTAINER], id="containers have different names"),
    pytest.param(f"{_POD}.containers[]", CONTAINER, {"image": "x"}, id="a container has a name"),
    pytest.param("template", {"spec": {"containers": [CONTAINER]}}, {}, id="a template has a spec"),
    pytest.param(_POD, {"containers": [CONTAINER]}, {}, id="a pod has containers"),
    pytest.param(f"{_POD}.dnsPolicy", "Default", "Sometimes", id="a closed set of words is closed"),
    pytest.param(f"{_POD}.hostNetwork", False, "no", id="a truth value is one"),
    *(
        pytest.param(
            f"{_POD}.containers[].resources.limits.memory", good, bad, id=f"{good} is a quantity, {bad} is not"
        )
        for good, bad in (
            ("1Gi", "1gi"),
            ("1.5G", "1.5GB"),
            ("100m", "100 m"),
            ("1e3", "1e"),
            (".5", "."),
            (2, 0.5),
            ("-1", "--1"),
            ("0", ""),
        )
    ),
]


@pytest.mark.parametrize(("path", "good", "bad"), CASES)
def test_a_pod_template_keeps_its_rules(server: Server, path: str, good: object, bad: object) -> None:
    accepted, refused = server.refusals([job(put(TEMPLATE, path, value)) for value in (good, bad)])
    assert accepted == ""
    assert f"spec.{path.removesuffix('[]').replace('[]', '[0]')}" in refused


def test_every_field_that_the_server_has_in_a_pod_is_known(server: Server) -> None:
    openapi = json.loads(server.kubectl("get", "--raw", "/openapi/v3/api/v1").stdout)
    known = {path for path, _ in fields(json.loads((CRDS / "pod-template.json").read_text("utf-8")))}
    unknown = {path for path, _ in fields(program("pod_template").build_pod_template(openapi))} - known
    assert unknown == set(), "a newer Kubernetes: run crds/generate.py --refresh KUBECONFIG"
