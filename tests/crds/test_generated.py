"""The generated files: fresh, small enough for `kubectl apply`, and the same in the chart."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import programs
from tests.cluster.cache import Cache
from tests.crds.objects import CRDS, Manifest, fields, program

pod_template = program("pod_template")

# `kubectl apply` keeps the object in an annotation; all annotations together may have 262,144 bytes.
SIZE_LIMIT = 240 * 1024
CHART = CRDS.parent / "charts" / "managedjobs"
FILES = ["managedjobs.yaml", "controllerpools.yaml"]


def crd(name: str) -> Manifest:
    found: Manifest = yaml.load((CRDS / name).read_text("utf-8"), yaml.CSafeLoader)
    return found


def schema(name: str) -> Manifest:
    found: Manifest = crd(name)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def test_the_generated_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, CRDS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run crds/generate.py"


@pytest.mark.parametrize("name", FILES)
def test_a_crd_fits_into_the_annotation_of_kubectl_apply(name: str) -> None:
    compact = json.dumps(crd(name), separators=(",", ":"), ensure_ascii=False).encode()
    assert len(compact) < SIZE_LIMIT


@pytest.mark.parametrize("name", FILES)
def test_a_crd_says_which_schema_it_has(name: str) -> None:
    assert crd(name)["metadata"]["annotations"]["managedjobs.dev/schema"] == "1"


def test_the_template_of_a_job_is_described_and_that_of_a_task_is_not() -> None:
    found = dict(fields(schema("managedjobs.yaml")))
    described = {path for path, field in found.items() if "description" in field}
    assert "spec.template.spec.containers[].livenessProbe.httpGet.path" in described
    assert {path for path in described if path.startswith("spec.tasks[].template.")} == set()


def test_a_task_has_the_template_of_a_job() -> None:
    found = [path for path, _ in fields(schema("managedjobs.yaml"))]
    of_a_job = [path for path in found if path.startswith("spec.template")]
    assert [path.replace("tasks[].", "") for path in found if path.startswith("spec.tasks[].template")] == of_a_job


def test_nothing_is_defaulted_but_what_columns_show() -> None:
    found = fields(schema("managedjobs.yaml"))
    assert {path for path, field in found if "default" in field} == {
        "spec.priority",
        "spec.controllerPoolName",
        "status",
    }


def test_no_word_of_status_is_a_closed_set() -> None:
    found = [*fields(schema("managedjobs.yaml")["properties"]["status"], "status")]
    assert [path for path, field in found if "enum" in field] == []
    texts = [(path, field) for path, field in found if field.get("type") == "string" and field.get("format") is None]
    assert [path for path, field in texts if "maxLength" not in field] == []


@pytest.mark.helm
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [True, False], ids=["kept at uninstall", "not kept"])
def test_the_chart_has_the_same_crd(name: str, keep: bool) -> None:
    rendered = _rendered(name, {"crds": {"install": True, "keep": keep}})
    want = crd(name)
    if keep:
        want["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep"
    assert rendered == want


def _rendered(name: str, values: Manifest) -> Any:  # noqa: ANN401 -- whatever YAML holds
    helm = programs.path_of("helm", Cache.default())
    template = Path("templates") / "crds" / name
    command: list[str | Path] = [
        helm,
        "template",
        CHART,
        "--kube-version=1.36.0",
        "--show-only",
        template,
        "--values",
        "-",
    ]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=True)
    return yaml.load(done.stdout, yaml.CSafeLoader)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("One. Two.", "One.", id="the first sentence is kept"),
        pytest.param("One\n\nTwo", "One.", id="a blank line ends a sentence"),
        pytest.param("Use e.g. Foo. Then Bar.", "Use e.g. Foo.", id="an abbreviation does not"),
        pytest.param("Optional: how long. More.", "How long.", id="that a field is optional is shown elsewhere"),
        pytest.param("A name. More info: https://example.com", "A name.", id="addresses are left out"),
        pytest.param("a few words too many", "A few words…", id="a long one is cut at a word"),
    ],
)
def test_a_description_is_shortened(text: str, want: str) -> None:
    assert pod_template.shorten(text, limit=15) == want


def test_a_pod_that_holds_itself_is_no_structural_schema() -> None:
    pod = "io.k8s.api.core.v1.PodTemplateSpec"
    itself = {"type": "object", "properties": {"spec": {"$ref": f"#/components/schemas/{pod}"}}}
    with pytest.raises(ValueError, match="holds itself"):
        pod_template.build_pod_template({"components": {"schemas": {pod: itself}}})


def test_the_committed_pod_template_is_closed_and_has_no_defaults() -> None:
    template = json.loads((CRDS / "pod-template.json").read_text("utf-8"))
    assert [path for path, field in fields(template) if "default" in field] == []
    opened = {path for path, field in fields(template) if "x-kubernetes-preserve-unknown-fields" in field}
    assert {path.rsplit(".", 1)[1] for path in opened} == {"creationTimestamp"}
    assert pod_template.at(template, "spec.containers[].ports")["x-kubernetes-list-type"] == "atomic"
