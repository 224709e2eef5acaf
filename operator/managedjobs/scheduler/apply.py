"""Carries out what was decided: one request at a time for each job, until its outcome is known."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeVar

from managedjobs.api.controller_manifest import ControllerSettings, controller_pod
from managedjobs.api.controller_pod import ControllerPodWire, parse_controller_pod
from managedjobs.api.names import API_VERSION, MANAGED_JOB_KIND, controller_pod_name
from managedjobs.api.parse import parse_job
from managedjobs.api.render import status_patch
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.model import Job, JobKey
from managedjobs.core.note import Note
from managedjobs.core.scheduling.actions import (
    CreateControllerPod,
    DeleteControllerPod,
    DeleteJob,
    Effect,
    StopChildJob,
    WriteStatus,
)
from managedjobs.core.scheduling.pool import PoolSpec
from managedjobs.core.scheduling.view import VanishedPod
from managedjobs.kube.backoff import Backoff, pause
from managedjobs.kube.client import Client
from managedjobs.kube.errors import (
    AlreadyExists,
    Conflict,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.informer import Informer
from managedjobs.kube.objects import ObjectRef
from managedjobs.kube.resources import MANAGED_JOBS, PODS
from managedjobs.scheduler.child_jobs import stop_child_job
from managedjobs.scheduler.store import Store
from managedjobs.telemetry import metrics

logger = logging.getLogger(__name__)
T = TypeVar("T")
_UNANSWERED = (Unreachable, ServerError, TooManyRequests, Unauthorized)


class Outcome(StrEnum):
    """What came of an effect."""

    DONE = "Done"
    CHANGED = "Changed"
    """The object was not what the decision was made on: decide again."""


class LeadershipLostError(Exception):
    """We don't lead any more: nothing may be written."""


class RefusedPodError(Exception):
    """The API server does not take the controller pod; the text is its reason."""


class Applier:
    """Writes to the API server, and takes the answers over into the store."""

    def __init__(
        self,
        client: Client,
        store: Store,
        pods: Informer[ControllerPodWire],
        recorder: EventRecorder,
        settings: ControllerSettings,
    ) -> None:
        self._client = client
        self._store = store
        self._pods = pods
        self._recorder = recorder
        self._settings = settings
        self.account_uid = ""
        self.term = 0
        self.leading: Callable[[], bool] = lambda: False

    async def apply(self, effect: Effect) -> Outcome:
        """Carry it out. Raises a KubeError that is an answer, RefusedPodError, or LeadershipLostError.

        A create or a status write that got no answer is sent again, the very same, until it gets one: what it did
        would not be known otherwise.
        """
        match effect:
            case CreateControllerPod():
                return await self._create(effect)
            case DeleteControllerPod():
                return await self._delete(effect)
            case WriteStatus():
                return await self._write(effect)
            case StopChildJob():
                self._check_leading()
                self._store.set_child(effect.job.uid, await stop_child_job(self._client, effect.job))
                return Outcome.DONE
            case DeleteJob():
                return await self._delete_job(effect.job)

    async def _create(self, effect: CreateControllerPod) -> Outcome:
        job = effect.job
        if effect.read_first and not await self.is_unchanged(job.key, job.uid, job.resource_version):
            return Outcome.CHANGED
        pool = self._store.fleet.pools.get(job.spec.pool)
        body = controller_pod(
            self._settings,
            job,
            pool.spec if pool else PoolSpec(),
            predecessor=effect.predecessor,
            term=self.term,
            account_uid=self.account_uid,
        )
        name = controller_pod_name(job.name, job.uid, effect.predecessor)

        async def create() -> ControllerPodWire:
            try:
                return await self._client.create(PODS, self._settings.namespace, body, ControllerPodWire)
            except AlreadyExists:
                # Ours, from an earlier try or an earlier leader: it is claimed already.
                return await self._client.get(PODS, self._settings.namespace, name, ControllerPodWire)

        try:
            wire = await self._until_answered(create)
        except NotFound as error:
            if error.request.startswith("GET"):
                return Outcome.CHANGED  # it went between the two requests
            raise RefusedPodError(error.message or str(error)) from error
        except Conflict:
            return Outcome.CHANGED
        except KubeError as error:
            raise RefusedPodError(getattr(error, "message", "") or str(error)) from error
        self._take_over(wire, job, effect)
        return Outcome.DONE

    def _take_over(self, wire: ControllerPodWire, job: Job, effect: CreateControllerPod) -> None:
        pod = parse_controller_pod(wire)
        if pod is None or pod.job_uid != job.uid:
            raise RefusedPodError(f"a pod {wire.metadata.name} that is not ours has the name that is needed")
        metrics.CLAIMS.labels("claim" if effect.is_claim else "successor").inc()
        if effect.is_claim:
            waited = self._client.clock.now() - job.queue_time
            metrics.CLAIM_SECONDS.observe(max(0.0, waited.total_seconds()))
        self._pods.offer(wire)
        if not self._store.has_pod(job.uid, pod.uid):
            # The watch was quicker, and has shown its end as well.
            gone = VanishedPod(uid=pod.uid, predecessor=pod.predecessor, failed_at=pod.failed_at)
            self._store.note_vanished(job.uid, gone, self._client.clock.now())

    async def _delete(self, effect: DeleteControllerPod) -> Outcome:
        pod = effect.pod
        if effect.expect_version is not None:
            expected = effect.expect_version or None
            if not await self.is_unchanged(effect.key, pod.job_uid, expected):
                return Outcome.CHANGED
        self._check_leading()
        self._store.ask_deletion(pod, self._client.clock.now())
        if not pod.ended:
            logger.info(
                "controller pod deleted",
                extra={"pod": pod.name, "job": str(effect.key), "why": effect.why, "force": effect.force},
            )
        grace = 0 if effect.force else None
        try:
            await self._client.delete(PODS, self._settings.namespace, pod.name, uid=pod.uid, grace_seconds=grace)
        except Conflict:
            return Outcome.CHANGED  # another pod has the name by now
        return Outcome.DONE

    async def _write(self, effect: WriteStatus) -> Outcome:
        job = effect.job
        patch = status_patch(job, effect.status)
        if patch is None:
            return Outcome.DONE

        async def write() -> ManagedJobWire:
            return await self._client.patch(
                MANAGED_JOBS, job.namespace, job.name, patch, ManagedJobWire, subresource="status"
            )

        try:
            wire = await self._until_answered(write)
        except Conflict:
            metrics.CONFLICTS.inc()
            await self.refresh(job.key, job.uid)
            return Outcome.CHANGED
        except NotFound:
            await self.refresh(job.key, job.uid)
            return Outcome.CHANGED
        self._store.put_job(parse_job(wire), self._client.clock.now())
        metrics.STATUS_WRITES.labels(effect.why.value).inc()
        if effect.note is not None:
            self._tell(job, effect.note, effect.why.value)
        return Outcome.DONE

    async def _delete_job(self, job: Job) -> Outcome:
        self._check_leading()
        try:
            await self._client.delete(
                MANAGED_JOBS, job.namespace, job.name, uid=job.uid, resource_version=job.resource_version
            )
        except Conflict:
            await self.refresh(job.key, job.uid)
            return Outcome.CHANGED
        await self.refresh(job.key, job.uid)  # it may have finalizers
        return Outcome.DONE

    async def is_unchanged(self, key: JobKey, uid: str, version: str | None) -> bool:
        """Whether a live read finds the job at that resourceVersion (None: finds it gone); the store learns of it."""
        job = await self.refresh(key, uid)
        if job is None:
            return version is None
        return job.resource_version == version

    async def refresh(self, key: JobKey, uid: str) -> Job | None:
        """Read the job live, take it over, and return it if it is still the one of that uid."""
        try:
            wire = await self._client.get(MANAGED_JOBS, key.namespace, key.name, ManagedJobWire)
        except NotFound as error:
            if error.details.get("name") != key.name:
                raise  # not the object is missing but its kind: that says nothing about the job
            self._store.remove_job(uid, self._client.clock.now())
            return None
        job = parse_job(wire)
        self._store.put_job(job, self._client.clock.now())
        return job if job.uid == uid else None

    async def _until_answered(self, send: Callable[[], Awaitable[T]]) -> T:
        backoff = Backoff(initial_seconds=0.2, max_seconds=10.0)
        while True:
            self._check_leading()
            try:
                return await send()
            except _UNANSWERED as error:
                metrics.ERRORS.labels(type(error).__name__).inc()
                if backoff.failures == 0:
                    logger.warning("no answer, sending again", extra={"error": str(error)})
                await pause(backoff.next_seconds())

    def _check_leading(self) -> None:
        if not self.leading():
            raise LeadershipLostError

    def _tell(self, job: Job, note: Note, action: str) -> None:
        about = ObjectRef(API_VERSION, MANAGED_JOB_KIND, job.namespace, job.name, job.uid)
        self._recorder.record(about, "Warning" if note.warning else "Normal", note.reason, note.text, action)
