"""Stopping the child Job of a job that the operator ends itself."""

from __future__ import annotations

import msgspec

from managedjobs.api.names import JOB_UID_LABEL, child_job_name
from managedjobs.api.wire import Metadata, Wire
from managedjobs.core.model import Job
from managedjobs.core.scheduling.view import ChildState
from managedjobs.kube.client import Client
from managedjobs.kube.errors import NotFound
from managedjobs.kube.resources import JOBS


class _SpecWire(Wire, frozen=True):
    suspend: bool = False


class _ConditionWire(Wire, frozen=True):
    type: str
    status: str = "Unknown"


class _StatusWire(Wire, frozen=True):
    active: int = 0
    terminating: int = 0
    conditions: tuple[_ConditionWire, ...] = ()


class _ChildJobWire(Wire, frozen=True):
    metadata: Metadata
    spec: _SpecWire = _SpecWire()
    status: _StatusWire = msgspec.field(default_factory=_StatusWire)


async def stop_child_job(client: Client, job: Job) -> ChildState:
    """Suspend the job's child Job, so that its pods get their grace period, and say whether they have ended.

    A Job of that name that is not the job's own is left alone. Raises KubeError.
    """
    name = child_job_name(job.name)
    try:
        child = await client.get(JOBS, job.namespace, name, _ChildJobWire)
    except NotFound:
        return ChildState.STOPPED
    if (child.metadata.labels or {}).get(JOB_UID_LABEL) != job.uid:
        return ChildState.STOPPED
    if any(c.type in ("Complete", "Failed") and c.status == "True" for c in child.status.conditions):
        return ChildState.STOPPED
    if child.spec.suspend:
        is_still = child.status.active == 0 and child.status.terminating == 0
        return ChildState.STOPPED if is_still else ChildState.STOPPING
    body = {"metadata": {"resourceVersion": child.metadata.resource_version}, "spec": {"suspend": True}}
    await client.patch(JOBS, job.namespace, name, body, _ChildJobWire)
    return ChildState.STOPPING
