"""Builders of the objects that the tests send, and the sources of the CRDs as Python values."""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

Manifest = dict[str, Any]

CRDS = Path(__file__).resolve().parents[2] / "crds"
CONTAINER = {"name": "main", "image": "busybox"}
# A job for each of the three ways to say what runs; each table starts from one of them.
SHORT: Manifest = {"image": "busybox"}
TEMPLATE: Manifest = {"template": {"spec": {"containers": [CONTAINER]}}}
TASKS: Manifest = {"tasks": [{"name": "first", "image": "busybox"}]}


def job(spec: Manifest, name: str = "job", **metadata: object) -> Manifest:
    """A ManagedJob with this spec."""
    meta = {"name": name, **metadata}
    return {"apiVersion": "managedjobs.dev/v1alpha1", "kind": "ManagedJob", "metadata": meta, "spec": spec}


def pool(spec: Manifest, name: str = "pool") -> Manifest:
    """A ControllerPool with this spec."""
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ControllerPool",
        "metadata": {"name": name},
        "spec": spec,
    }


def put(base: Mapping[str, Any], path: str, value: object) -> Manifest:
    """A copy of `base` with `value` at a path such as `recovery.backoff.maxSeconds` or `command[]` (first item)."""
    result: Manifest = json.loads(json.dumps(base))
    steps = path.split(".")
    node = result
    for step in steps[:-1]:
        key = step.removesuffix("[]")
        if step.endswith("[]"):
            (node,) = node.setdefault(key, [{}])
        else:
            node = node.setdefault(key, {})
    last = steps[-1]
    node[last.removesuffix("[]")] = [value] if last.endswith("[]") else value
    return result


def source(name: str) -> Manifest:
    """The `openAPIV3Schema` of a hand-written source, without what comes from the pod template."""
    crd: Manifest = yaml.safe_load((CRDS / "source" / name).read_text("utf-8"))
    schema: Manifest = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def program(name: str) -> ModuleType:
    """A module of `crds/`, which is a folder of scripts and no package."""
    spec = importlib.util.spec_from_file_location(f"crds_{name}", CRDS / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"crds/{name}.py can't be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fields(schema: Manifest, path: str = "") -> Iterator[tuple[str, Manifest]]:
    """Every field below a schema, with its path: `spec.tasks[].name`; `[]` is a list's item, `.*` a map's value."""
    for name, field in schema.get("properties", {}).items():
        yield from _with_parts(field, f"{path}.{name}" if path else name)


def _with_parts(field: Manifest, where: str) -> Iterator[tuple[str, Manifest]]:
    yield where, field
    yield from fields(field, where)
    if "items" in field:
        yield from _with_parts(field["items"], f"{where}[]")
    if "additionalProperties" in field:
        yield from _with_parts(field["additionalProperties"], f"{where}.*")
