"""The controller pod that the operator creates for a job."""

from __future__ import annotations

from dataclasses import dataclass

from managedjobs.api.names import (
    APP,
    APP_LABEL,
    COMPONENT_LABEL,
    CONTROLLER_COMPONENT,
    JOB_NAME_LABEL,
    JOB_NAMESPACE_LABEL,
    JOB_UID_LABEL,
    LEADER_TERM_ANNOTATION,
    POOL_LABEL,
    PREDECESSOR_ANNOTATION,
    controller_pod_name,
)
from managedjobs.api.quantity import parse_quantity, render_bytes
from managedjobs.api.render import Json
from managedjobs.core.model import Job
from managedjobs.core.scheduling.pool import PoolSpec, Toleration

TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS = 3607
"""What the API server's own admission asks for; the kubelet renews it."""
_LOST_NODE_SECONDS = 30
_USER = 65532


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """What every controller pod is made with."""

    namespace: str = "managedjobs-system"
    image: str = "managedjobs:latest"
    image_pull_policy: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str = "managedjobs-controller"
    priority_class: str | None = None
    cpu_request: str = "10m"
    memory_request: str = "32Mi"
    propagate_labels: tuple[str, ...] = ()
    keep_jobs: bool = True
    log_level: str = "info"
    log_format: str = "text"


def controller_pod(
    settings: ControllerSettings, job: Job, pool: PoolSpec, *, predecessor: str, term: int, account_uid: str
) -> dict[str, Json]:
    """The manifest of the one pod that may take the job over from the fence value `predecessor`.

    Owned by the controllers' ServiceAccount, whose uid is `account_uid`: a pod with a controller can be drained, and
    goes with the installation. A ManagedJob can't own it: an owner in another namespace gets it collected at once.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": controller_pod_name(job.name, job.uid, predecessor),
            "namespace": settings.namespace,
            "labels": {
                APP_LABEL: APP,
                COMPONENT_LABEL: CONTROLLER_COMPONENT,
                JOB_UID_LABEL: job.uid,
                JOB_NAME_LABEL: job.name,
                JOB_NAMESPACE_LABEL: job.namespace,
                POOL_LABEL: job.spec.pool,
            },
            "annotations": {
                PREDECESSOR_ANNOTATION: predecessor,
                LEADER_TERM_ANNOTATION: str(term),
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "name": settings.service_account,
                    "uid": account_uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": _spec(settings, job, pool, predecessor),
    }


def _spec(settings: ControllerSettings, job: Job, pool: PoolSpec, predecessor: str) -> dict[str, Json]:
    spec: dict[str, Json] = {
        "restartPolicy": "OnFailure",
        "serviceAccountName": settings.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [_toleration(t) for t in (*pool.tolerations, *_SHORT_TOLERATIONS)],
        "containers": [_container(settings, job, pool, predecessor)],
        "volumes": [_token_volume()],
    }
    if pool.node_selector:
        spec["nodeSelector"] = dict(pool.node_selector)
    if settings.priority_class:
        spec["priorityClassName"] = settings.priority_class
    if settings.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    return spec


def _container(settings: ControllerSettings, job: Job, pool: PoolSpec, predecessor: str) -> dict[str, Json]:
    limit = render_bytes(pool.memory_per_job)
    fits = parse_quantity(settings.memory_request) <= pool.memory_per_job
    container: dict[str, Json] = {
        "name": "controller",
        "image": settings.image,
        "args": ["controller", "--namespace", job.namespace, "--name", job.name],
        "env": _environment(settings, job, predecessor),
        "resources": {
            "requests": {"cpu": settings.cpu_request, "memory": settings.memory_request if fits else limit},
            "limits": {"memory": limit},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": "token", "mountPath": TOKEN_FOLDER, "readOnly": True}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    return container


def _environment(settings: ControllerSettings, job: Job, predecessor: str) -> list[Json]:
    fields = {
        "MANAGEDJOBS_POD_NAME": "metadata.name",
        "MANAGEDJOBS_POD_UID": "metadata.uid",
        "MANAGEDJOBS_NODE_NAME": "spec.nodeName",
    }
    values = {
        "MANAGEDJOBS_JOB_UID": job.uid,
        "MANAGEDJOBS_PREDECESSOR": predecessor,
        "MANAGEDJOBS_PROPAGATE_LABELS": ",".join(settings.propagate_labels),
        "MANAGEDJOBS_KEEP_JOBS": "true" if settings.keep_jobs else "false",
        "MANAGEDJOBS_LOG_LEVEL": settings.log_level,
        "MANAGEDJOBS_LOG_FORMAT": settings.log_format,
    }
    from_fields: list[Json] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()
    ]
    literal: list[Json] = [{"name": name, "value": value} for name, value in values.items()]
    return from_fields + literal


def _token_volume() -> dict[str, Json]:
    """A token bound to the pod: a process whose pod object is gone is refused by the API server within seconds."""
    return {
        "name": "token",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {
                    "downwardAPI": {
                        "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}],
                    }
                },
            ]
        },
    }


_SHORT_TOLERATIONS = tuple(
    Toleration(key=f"node.kubernetes.io/{what}", operator="Exists", effect="NoExecute", seconds=_LOST_NODE_SECONDS)
    for what in ("unreachable", "not-ready")
)


def _toleration(toleration: Toleration) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
        "tolerationSeconds": toleration.seconds,
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}
