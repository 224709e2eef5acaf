"""Carrying out one step: each is one request, safe to repeat, and guarded by a version, a name or a uid."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from managedjobs.api.child_job import child_job, peers_service
from managedjobs.api.child_wire import DrivenJobWire, JobWire, ServiceWire
from managedjobs.api.names import API_VERSION, MANAGED_JOB_KIND, child_job_name
from managedjobs.api.parse import parse_job
from managedjobs.api.pod_template import Attempt, Object
from managedjobs.api.render import status_patch
from managedjobs.controller.facts import Facts
from managedjobs.controller.refusals import refusal_of_create
from managedjobs.controller.settings import Settings
from managedjobs.controller.world import World
from managedjobs.core.attempts import current_attempt
from managedjobs.core.driving.steps import (
    CreateChildJob,
    CreateService,
    DeleteChildJob,
    DeletePod,
    Look,
    ReadLastLine,
    Step,
    StopChildJob,
    WriteStatus,
)
from managedjobs.core.model import Job
from managedjobs.core.note import Note
from managedjobs.kube.client import Client
from managedjobs.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound, Unauthorized
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.objects import ObjectRef
from managedjobs.kube.resources import JOBS, MANAGED_JOBS, PODS, SERVICES, Resource

logger = logging.getLogger(__name__)
T = TypeVar("T")

CREATE_AGAIN_AFTER = timedelta(seconds=5)
"""Before a create that the server could not take at the moment is repeated."""


class Hands:
    """Does what was decided. Whatever the answer, the next decision starts from what is seen then."""

    def __init__(self, client: Client, settings: Settings, world: World, facts: Facts, events: EventRecorder) -> None:
        self._client = client
        self._settings = settings
        self._world = world
        self._facts = facts
        self._events = events

    async def carry_out(self, step: Step, job: Job | None, now: datetime) -> None:
        """Carry out `step`, decided on `job`. Raises KubeError where it is not known what became of it."""
        match step:
            case WriteStatus() if job is not None:
                await self._write(step, job, now)
            case CreateChildJob() if job is not None:
                await self._create_child(step, now)
            case CreateService() if job is not None:
                await self._create_service(job, now)
            case StopChildJob():
                await self._stop_child(step)
            case DeleteChildJob():
                await self._delete_child(step)
            case DeletePod():
                await self._delete_pod(step)
            case ReadLastLine():
                await self._facts.read_last_line(step)
            case Look():
                await self._world.look()
            case _:
                raise TypeError(f"a step that can't be carried out: {step!r}")

    async def _write(self, step: WriteStatus, job: Job, now: datetime) -> None:
        patch = status_patch(job, step.status)
        if patch is None:
            return
        try:
            answer = await self._client.patch(
                MANAGED_JOBS, job.namespace, job.name, patch, DrivenJobWire, subresource="status"
            )
        except (Conflict, NotFound):
            # Somebody else wrote, or it is gone: read, and decide on what is there now.
            await self._world.read_job()
            return
        self._world.offer_job(answer)
        if step.text_only:
            self._facts.wrote_text(now)
        logger.info(
            "status written",
            extra={"phase": step.status.phase, "reason": step.status.reason, "state": step.status.state},
        )
        if step.note is not None:
            self._tell(job, step.note)

    def _tell(self, job: Job, note: Note) -> None:
        about = ObjectRef(API_VERSION, MANAGED_JOB_KIND, job.namespace, job.name, job.uid)
        self._events.record(about, "Warning" if note.warning else "Normal", note.reason, note.text, "Drive")

    async def _create_child(self, step: CreateChildJob, now: datetime) -> None:
        seen = self._world.job
        if seen is None:
            return
        job = parse_job(seen)
        attempt = _attempt(job, step.attempt)
        body = child_job(
            seen.spec,
            attempt,
            job_labels=job.labels,
            propagate=self._settings.propagate_labels,
            prefer_node=step.prefer_node,
        )
        made = await self._create(JOBS, body, JobWire, step.attempt, now)
        if made is not None:
            self._world.offer_child(made)

    async def _create_service(self, job: Job, now: datetime) -> None:
        number = current_attempt(job.status).number
        await self._create(SERVICES, peers_service(_attempt(job, number)), ServiceWire, number, now)

    async def _create(self, resource: Resource, body: Object, type: type[T], number: int, now: datetime) -> T | None:
        try:
            made = await self._client.create(resource, self._settings.namespace, body, type)
        except AlreadyExists:
            return None  # ours or not: the next look shows it
        except Unauthorized:
            raise
        except ApiError as error:
            self._facts.refused(refusal_of_create(error, number, now + CREATE_AGAIN_AFTER))
            logger.warning("create refused", extra={"resource": resource.plural, "error": str(error)})
            return None
        self._facts.refused(None)
        logger.info("created", extra={"resource": resource.plural, "attempt": number})
        return made

    async def _stop_child(self, step: StopChildJob) -> None:
        # The uid in the body is a precondition: on another object of that name the server refuses to change it.
        body = {"metadata": {"uid": step.uid}, "spec": {"suspend": True}}
        name = child_job_name(self._settings.name)
        try:
            child = await self._client.patch(JOBS, self._settings.namespace, name, body, JobWire)
        except NotFound:
            self._world.note_deleted(step.uid)
            return
        except Invalid as error:
            if not _is_about_another_object(error):
                raise
            self._world.note_deleted(step.uid)
            return
        self._world.offer_child(child)

    async def _delete_child(self, step: DeleteChildJob) -> None:
        name = child_job_name(self._settings.name)
        try:
            await self._client.delete(JOBS, self._settings.namespace, name, uid=step.uid, propagation="Foreground")
        except Conflict:
            logger.info("another Job has the name by now", extra={"job": name})
        self._world.note_deleted(step.uid)

    async def _delete_pod(self, step: DeletePod) -> None:
        try:
            await self._client.delete(
                PODS, self._settings.namespace, step.name, uid=step.uid, grace_seconds=0 if step.force else None
            )
        except Conflict:
            return
        logger.warning("pod that was left behind deleted", extra={"pod": step.name, "force": step.force})


def _is_about_another_object(error: Invalid) -> bool:
    causes = error.details.get("causes") or ()
    return any(isinstance(cause, Mapping) and cause.get("field") == "metadata.uid" for cause in causes)


def _attempt(job: Job, number: int) -> Attempt:
    return Attempt(
        namespace=job.namespace,
        job_name=job.name,
        job_uid=job.uid,
        number=number,
        replicas=job.spec.replicas,
    )
