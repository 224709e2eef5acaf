"""What a controller creates: the child Job of an attempt, and the headless Service of a group."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from managedjobs.api.child_wire import DrivenSpecWire
from managedjobs.api.names import (
    API_VERSION,
    ATTEMPT_LABEL,
    JOB_NAME_LABEL,
    JOB_UID_LABEL,
    MANAGED_JOB_KIND,
    child_job_name,
    peers_service_name,
)
from managedjobs.api.pod_template import Attempt, Object, pod_template
from managedjobs.api.render import Json

KUEUE_LABELS = "kueue.x-k8s.io/"
JOB_NAME_SELECTOR = "batch.kubernetes.io/job-name"
"""The label that the Job controller gives to every pod of a Job, whoever made the Job."""


def child_job(
    spec: DrivenSpecWire,
    attempt: Attempt,
    *,
    job_labels: Mapping[str, str],
    propagate: Collection[str] = (),
    prefer_node: str | None = None,
) -> Object:
    """The Indexed Job of one attempt: no retries of its own, all attempts under the one name (DESIGN 3.3).

    `job_labels` are the ManagedJob's; of them only Kueue's and those in `propagate` are handed on.
    """
    ours = child_labels(attempt)
    handed_on: dict[str, Json] = {
        key: value for key, value in job_labels.items() if key.startswith(KUEUE_LABELS) or key in propagate
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": child_job_name(attempt.job_name),
            "namespace": attempt.namespace,
            "labels": {**handed_on, **ours},
            "ownerReferences": [_owner(attempt)],
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": attempt.replicas,
            "parallelism": attempt.replicas,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "template": pod_template(spec, attempt, ours, prefer_node),
        },
    }


def peers_service(attempt: Attempt) -> Object:
    """The headless Service by which the pods of a group find each other, also before they are ready."""
    labels = child_labels(attempt)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": peers_service_name(attempt.job_name),
            "namespace": attempt.namespace,
            "labels": {key: value for key, value in labels.items() if key != ATTEMPT_LABEL},
            "ownerReferences": [_owner(attempt)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {JOB_UID_LABEL: attempt.job_uid},
        },
    }


def child_labels(attempt: Attempt) -> dict[str, str]:
    """Our labels on the child Job and on its pods."""
    return {
        JOB_NAME_LABEL: attempt.job_name,
        JOB_UID_LABEL: attempt.job_uid,
        ATTEMPT_LABEL: str(attempt.number),
    }


def _owner(attempt: Attempt) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": MANAGED_JOB_KIND,
        "name": attempt.job_name,
        "uid": attempt.job_uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
