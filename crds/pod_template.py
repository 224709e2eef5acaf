"""Turns PodTemplateSpec of a Kubernetes OpenAPI document into a structural schema for our CRD."""

from __future__ import annotations

import re
from typing import Any

Schema = dict[str, Any]

POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"

# The server's quantity grammar (apimachinery, pkg/api/resource): sign, decimal number, suffix.
QUANTITY_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
# DNS label: what the server asks of container names.
LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

# Longer first sentences are cut: `kubectl explain pod` has the whole text.
DESCRIPTION_LIMIT = 240
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)\.\s+(?=[A-Z`])|\.?\s*\n|\.?\s*More info:")

_INT_OR_STRING: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_STRING_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}

_SPECIAL: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
    # Name and creationTimestamp are what `kubectl create --dry-run -o yaml` leaves behind: allowed, ignored.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": {**_STRING_MAP, "description": "Annotations of the object made from this template."},
            "creationTimestamp": {"x-kubernetes-preserve-unknown-fields": True, "description": "Ignored."},
            "labels": {**_STRING_MAP, "description": "Labels of the object made from this template."},
            "name": {"type": "string", "description": "Ignored: pods are named after the ManagedJob."},
        },
    },
}

_KEPT = (
    "type", "format", "enum", "nullable", "minimum", "maximum",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
)  # fmt: skip


def build_pod_template(openapi: Schema) -> Schema:
    """Returns the closed structural schema of PodTemplateSpec, without defaults, with short descriptions.

    `openapi` is the document the API server serves at /openapi/v3/api/v1. A field that the document does
    not know is refused by the result, as the API server refuses it in a pod under strict validation.
    """
    schemas = openapi["components"]["schemas"]
    template = _structural({"$ref": f"#/components/schemas/{POD_TEMPLATE}"}, schemas, ())
    _apply_our_rules(template)
    return template


def _structural(node: Schema, schemas: dict[str, Schema], path: tuple[str, ...]) -> Schema:
    if "allOf" in node:
        (target,) = node["allOf"]
        return _described(_structural(target, schemas, path), node.get("description"))
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        if name in path:
            raise ValueError(f"{name} holds itself: it can't be a structural schema")
        special = _SPECIAL.get(name)
        return dict(special) if special else _structural(schemas[name], schemas, (*path, name))
    # Defaults are left out: the server sets them on the pod. Here each would be written into the job.
    result = {key: node[key] for key in _KEPT if key in node}
    if "properties" in node:
        result["properties"] = {
            name: _structural(child, schemas, path) for name, child in sorted(node["properties"].items())
        }
    for key in ("items", "additionalProperties"):
        if key in node:
            result[key] = _undescribed(_structural(node[key], schemas, path))
    if "required" in node:
        result["required"] = sorted(node["required"])
    return _described(_keyed(result), node.get("description"))


def _keyed(node: Schema) -> Schema:
    """Makes the keys of a list-map required, as the schema of a CRD demands; a key with a default can't be."""
    if node.get("x-kubernetes-list-type") != "map":
        return node
    keys = node["x-kubernetes-list-map-keys"]
    if "protocol" in keys:
        # Container ports. Their key holds a field that users leave out: as a map each apply would differ.
        return {
            **{key: value for key, value in node.items() if key != "x-kubernetes-list-map-keys"},
            "x-kubernetes-list-type": "atomic",
        }
    items = node["items"]
    return {**node, "items": {**items, "required": sorted({*items.get("required", []), *keys})}}


def _described(node: Schema, text: str | None) -> Schema:
    if not text:
        return node
    return {**node, "description": shorten(text)}


def _undescribed(node: Schema) -> Schema:
    """Drops the text of a list's or map's member: `kubectl explain` shows that of the field itself."""
    return {key: value for key, value in node.items() if key != "description"}


def shorten(text: str, limit: int = DESCRIPTION_LIMIT) -> str:
    """Returns the first sentence of `text`; one longer than `limit` characters ends at a word, with "…"."""
    body = re.sub(r"^(Required|Optional)[.:,]\s+", "", text.strip(), flags=re.IGNORECASE)
    first = _SENTENCE_END.split(body, maxsplit=1)[0].strip().rstrip(".:,;")
    first = first[:1].upper() + first[1:]
    if len(first) <= limit:
        return f"{first}."
    cut = first[:limit]
    return f"{cut[: cut.rfind(' ')]}…"


def without_descriptions(node: Schema) -> Schema:
    """Returns a copy of a schema with no text in it, at any depth."""
    result = _undescribed(node)
    if "properties" in node:
        result["properties"] = {name: without_descriptions(child) for name, child in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            result[key] = without_descriptions(node[key])
    return result


def at(schema: Schema, path: str) -> Schema:
    """Returns the part of a schema at a path such as `spec.containers[].env` ("" is the schema itself)."""
    for step in filter(None, path.split(".")):
        schema = schema["properties"][step.removesuffix("[]")]
        if step.endswith("[]"):
            schema = schema["items"]
    return schema


def _apply_our_rules(template: Schema) -> None:
    """Adds what a ManagedJob asks of a pod beyond what a pod asks of itself."""
    spec = at(template, "spec")
    # The server refuses ephemeral containers in any pod template; a debugger adds them to the pod.
    del spec["properties"]["ephemeralContainers"]
    spec["properties"]["restartPolicy"] = {
        "type": "string",
        "enum": ["Never"],
        "description": "Never, or left out: a new attempt is a new pod.",
    }
    # Bounds make the cost of our CEL rules known; no real pod comes near them.
    for name, bound in (("containers", 64), ("initContainers", 64), ("volumes", 256)):
        field = spec["properties"][name]
        field["maxItems"] = bound
        field["items"]["properties"]["name"].update(maxLength=63, pattern=LABEL_PATTERN)
    spec["properties"]["containers"]["minItems"] = 1
    template["required"] = ["spec"]
