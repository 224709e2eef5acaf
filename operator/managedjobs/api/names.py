"""Names that the API server, other people's scripts and our own programs agree on."""

from __future__ import annotations

import hashlib

GROUP = "managedjobs.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
MANAGED_JOB_KIND = "ManagedJob"
CONTROLLER_POOL_KIND = "ControllerPool"
MANAGED_JOBS_CRD = f"managedjobs.{GROUP}"
CONTROLLER_POOLS_CRD = f"controllerpools.{GROUP}"

SCHEMA_ANNOTATION = f"{GROUP}/schema"
"""On the CRD: the number of the schema. The operator refuses to write under an older one."""
SCHEMA_NEEDED = 1

DEFAULT_POOL = "default"

# on child Jobs, their pods and controller pods
JOB_NAME_LABEL = f"{GROUP}/job-name"
JOB_UID_LABEL = f"{GROUP}/job-uid"
JOB_NAMESPACE_LABEL = f"{GROUP}/job-namespace"
ATTEMPT_LABEL = f"{GROUP}/attempt"
TASK_LABEL = f"{GROUP}/task"
POOL_LABEL = f"{GROUP}/pool"
APP_LABEL = "app.kubernetes.io/name"
APP = "managedjobs"
COMPONENT_LABEL = "app.kubernetes.io/component"
CONTROLLER_COMPONENT = "controller"
CONTROLLER_SELECTOR = f"{APP_LABEL}={APP},{COMPONENT_LABEL}={CONTROLLER_COMPONENT}"

PREDECESSOR_ANNOTATION = f"{GROUP}/predecessor"
LEADER_TERM_ANNOTATION = f"{GROUP}/leader-term"

MAIN_CONTAINER = "main"
_HASH_LENGTH = 10


def controller_pod_name(job_name: str, job_uid: str, predecessor: str) -> str:
    """The name of the one controller pod that may take over from `predecessor` ("": the first claim).

    One successor per predecessor: a second create of the same name is refused by the API server, which makes the
    creation of the pod an atomic claim (DESIGN 3.3). At most 61 characters, a DNS label.
    """
    digest = hashlib.sha256(f"{job_uid}/{predecessor}".encode()).hexdigest()[:_HASH_LENGTH]
    return f"{job_name}-{digest}"


def child_job_name(job_name: str) -> str:
    """The name of the child Job of every attempt: the job's own, so that `kubectl logs job/NAME` works."""
    return job_name


def peers_service_name(job_name: str) -> str:
    """The name of the headless Service through which the pods of one attempt find each other."""
    return f"{job_name}-peers"
