"""Is everything there that the operator needs? Each thing that is missing is one line, not a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from managedjobs.api.names import CONTROLLER_POOLS_CRD, MANAGED_JOBS_CRD, SCHEMA_ANNOTATION, SCHEMA_NEEDED
from managedjobs.api.wire import Metadata, Wire
from managedjobs.kube.client import Client
from managedjobs.kube.errors import Forbidden, KubeError, NotFound
from managedjobs.kube.resources import CRDS, Resource
from managedjobs.settings import Settings

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)


class _Object(Wire, frozen=True):
    metadata: Metadata


class _ReviewStatus(Wire, frozen=True):
    allowed: bool = False


class _Review(Wire, frozen=True):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


@dataclass(frozen=True, slots=True)
class _Right:
    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {resource}{f'.{self.group}' if self.group else ''}"


_CLUSTER_RIGHTS = tuple(
    _Right(verb, group, resource, subresource)
    for verb, group, resource, subresource in (
        ("list", "managedjobs.dev", "controllerpools", ""),
        ("watch", "managedjobs.dev", "controllerpools", ""),
        ("patch", "managedjobs.dev", "controllerpools", "status"),
        ("list", "", "nodes", ""),
        ("watch", "", "nodes", ""),
    )
)
_JOB_RIGHTS = (
    _Right("get", "managedjobs.dev", "managedjobs"),
    _Right("list", "managedjobs.dev", "managedjobs"),
    _Right("watch", "managedjobs.dev", "managedjobs"),
    _Right("patch", "managedjobs.dev", "managedjobs", "status"),
)
_RELEASE_RIGHTS = tuple(_Right(verb, "", "pods") for verb in ("get", "list", "watch", "create", "delete"))


async def find_problem(client: Client, settings: Settings) -> str | None:
    """One line about the first thing that is missing, with what to do; None: all is there."""
    try:
        for crd in (MANAGED_JOBS_CRD, CONTROLLER_POOLS_CRD):
            problem = await _schema_problem(client, crd)
            if problem:
                return problem
        return await _rights_problem(client, settings)
    except Forbidden as error:
        return f"a right is missing: {error.message}; bind the chart's roles to the operator's account"
    except KubeError as error:
        return f"the API server can't be asked: {error}"


async def account_uid(client: Client, settings: Settings) -> str:
    """The uid of the controllers' ServiceAccount. Raises NotFound."""
    name = settings.controller.service_account
    return (await client.get(SERVICE_ACCOUNTS, settings.namespace, name, _Object)).metadata.uid


async def _schema_problem(client: Client, name: str) -> str | None:
    try:
        crd = await client.get(CRDS, None, name, _Object)
    except NotFound:
        return f"the CustomResourceDefinition {name} is not installed; install the chart, or apply the files in crds/"
    given = (crd.metadata.annotations or {}).get(SCHEMA_ANNOTATION, "0")
    if given.isdigit() and int(given) >= SCHEMA_NEEDED:
        return None
    return (
        f"the CustomResourceDefinition {name} is too old: its annotation {SCHEMA_ANNOTATION} is {given}, this "
        f"operator needs {SCHEMA_NEEDED}; upgrade the chart's CRDs (nothing is written until then)"
    )


async def _rights_problem(client: Client, settings: Settings) -> str | None:
    missing = [str(right) for right in _CLUSTER_RIGHTS if not await _allowed(client, right, "")]
    for namespace in settings.workload_namespaces or ("",):
        where = f" in {namespace}" if namespace else ""
        missing += [f"{right}{where}" for right in _JOB_RIGHTS if not await _allowed(client, right, namespace)]
    missing += [
        f"{right} in {settings.namespace}"
        for right in _RELEASE_RIGHTS
        if not await _allowed(client, right, settings.namespace)
    ]
    if not missing:
        return None
    return f"rights are missing: {', '.join(missing)}; bind the chart's roles to the operator's account"


async def _allowed(client: Client, right: _Right, namespace: str) -> bool:
    attributes: Mapping[str, Any] = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "namespace": namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return (await client.create(_REVIEWS, None, body, _Review)).status.allowed
