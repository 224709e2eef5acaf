"""The pod template of an attempt: the user's own, or one made from the short form, with our additions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from managedjobs.api.child_parse import INDEX_LABEL, LOG_POLICY
from managedjobs.api.child_wire import DrivenSpecWire
from managedjobs.api.names import MAIN_CONTAINER, peers_service_name
from managedjobs.api.render import Json

Object = dict[str, Json]

_RENDEZVOUS = ("MASTER_ADDR", "RANK", "WORLD_SIZE")
"""What programs such as torch read; a container that sets one of them itself gets none of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What the pods of one attempt are told about it."""

    namespace: str
    job_name: str
    job_uid: str
    number: int
    replicas: int

    @property
    def is_group(self) -> bool:
        """Whether its pods have peers, and so a Service to find them by."""
        return self.replicas > 1


def pod_template(
    spec: DrivenSpecWire, attempt: Attempt, labels: Mapping[str, str], prefer_node: str | None = None
) -> Object:
    """The template of the attempt's pods; `labels` are ours and win over the template's."""
    template = cast(Object, spec.template) if spec.template is not None else _short_form(spec)
    meta = _object(template, "metadata")
    pod_spec = _object(template, "spec")
    kept = {key: meta[key] for key in ("annotations",) if key in meta}
    return {
        **template,
        "metadata": {**kept, "labels": {**_object(meta, "labels"), **labels}},
        "spec": _pod_spec(pod_spec, attempt, prefer_node),
    }


def _short_form(spec: DrivenSpecWire) -> Object:
    container: Object = {"name": MAIN_CONTAINER, "image": spec.image}
    if spec.entrypoint is not None:
        container["command"] = ["/bin/sh", "-c", spec.entrypoint]
    given = {"command": spec.command, "args": spec.args, "env": spec.env, "resources": spec.resources}
    container.update({key: cast(Json, value) for key, value in given.items() if value is not None})
    return {"spec": {"containers": [container]}}


def _pod_spec(pod_spec: Object, attempt: Attempt, prefer_node: str | None) -> Object:
    """The pod's spec: never restarted in place, our variables in all containers, a name among its peers."""
    done: Object = {**pod_spec, "restartPolicy": "Never"}
    for field in ("containers", "initContainers"):
        if field in pod_spec:
            done[field] = [_container(c, attempt) for c in _objects(pod_spec, field)]
    if attempt.is_group:
        done["subdomain"] = peers_service_name(attempt.job_name)
    if prefer_node is not None:
        done["affinity"] = _preferring(_object(pod_spec, "affinity"), prefer_node)
    return done


def _container(container: Object, attempt: Attempt) -> Object:
    """The container with our variables first, so that the user's may refer to them as `$(NAME)`."""
    own = _objects(container, "env")
    taken = {variable.get("name") for variable in own}
    added: list[Json] = [variable for variable in _variables(attempt, taken) if variable["name"] not in taken]
    return {"terminationMessagePolicy": LOG_POLICY, **container, "env": [*added, *own]}


def _variables(attempt: Attempt, taken: set[Json]) -> list[Object]:
    index: Json = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX_LABEL}']"}}
    service = peers_service_name(attempt.job_name)
    values: dict[str, str] = {
        "MANAGEDJOBS_JOB": attempt.job_name,
        "MANAGEDJOBS_NAMESPACE": attempt.namespace,
        "MANAGEDJOBS_TASK_ID": f"{attempt.job_name}-{attempt.job_uid}",
        "MANAGEDJOBS_ATTEMPT": str(attempt.number),
        "MANAGEDJOBS_REPLICAS": str(attempt.replicas),
    }
    if attempt.is_group:
        values["MANAGEDJOBS_SERVICE"] = service
    variables: list[Object] = [{"name": name, "value": value} for name, value in values.items()]
    variables.append({"name": "MANAGEDJOBS_INDEX", "valueFrom": index})
    if not taken.intersection(_RENDEZVOUS):
        first = f"{attempt.job_name}-0.{service}" if attempt.is_group else "localhost"
        variables += [
            {"name": "MASTER_ADDR", "value": first},
            {"name": "RANK", "valueFrom": index},
            {"name": "WORLD_SIZE", "value": str(attempt.replicas)},
        ]
    return variables


def _preferring(affinity: Object, node: str) -> Object:
    """The affinity with one more wish: that node."""
    term: Json = {
        "weight": 100,
        "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
    }
    node_affinity = _object(affinity, "nodeAffinity")
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    return {**affinity, "nodeAffinity": {**node_affinity, field: [*_objects(node_affinity, field), term]}}


def _object(parent: Object, field: str) -> Object:
    value = parent.get(field)
    return value if isinstance(value, dict) else {}


def _objects(parent: Object, field: str) -> list[Object]:
    value = parent.get(field)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
