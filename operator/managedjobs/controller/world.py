"""What the controller sees: three small watches, and a live look where a cache is not proof enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TypeVar

from managedjobs.api.child_job import JOB_NAME_SELECTOR
from managedjobs.api.child_parse import parse_child_job, parse_pod, parse_service
from managedjobs.api.child_wire import DrivenJobWire, JobWire, PodWire, ServiceWire
from managedjobs.api.names import child_job_name, peers_service_name
from managedjobs.api.parse import parse_job
from managedjobs.core.driving.view import ChildJob, Pod, Service, View
from managedjobs.kube.client import Client
from managedjobs.kube.errors import NotFound, Unreadable
from managedjobs.kube.informer import Informer
from managedjobs.kube.resources import JOBS, MANAGED_JOBS, PODS, SERVICES, Resource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Look:
    """What one live look showed, and the version of the job that it followed."""

    job_version: str
    child: JobWire | None
    pods: tuple[PodWire, ...]
    service: ServiceWire | None


class World:
    """The job, its child Job and the pods of its name, kept right by watches; `changed` is set at each change."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self.changed = asyncio.Event()
        self.job_uid = ""  # of the ManagedJob that is driven; another object of its name is not it
        self._client = client
        self._namespace = namespace
        self._name = name
        self._looked: _Look | None = None
        self._deleted: set[str] = set()  # uids of child Jobs that the server took our delete for
        self._jobs = Informer(
            client,
            MANAGED_JOBS,
            DrivenJobWire,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
            on_change=self._wake,
        )
        self._children = Informer(
            client,
            JOBS,
            JobWire,
            namespace=namespace,
            field_selector=f"metadata.name={child_job_name(name)}",
            on_change=self._wake,
        )
        self._pods = Informer(
            client,
            PODS,
            PodWire,
            namespace=namespace,
            label_selector=f"{JOB_NAME_SELECTOR}={child_job_name(name)}",
            on_change=self._wake,
        )

    def watches(self) -> list[Callable[[], Coroutine[None, None, None]]]:
        """What must run beside everything else."""
        return [self._jobs.run, self._children.run, self._pods.run]

    async def synced(self) -> None:
        """Wait until each watch has shown everything once."""
        for informer in (self._jobs, self._children, self._pods):
            await informer.synced.wait()

    @property
    def job(self) -> DrivenJobWire | None:
        """The ManagedJob as it was last seen; None: it is gone, or another object has its name."""
        job = self._jobs.get(self._namespace, self._name)
        return job if job is not None and self.job_uid in ("", job.metadata.uid) else None

    def view(self) -> View:
        """All that is known now; a live look counts once, and only while the job is the one that it followed."""
        job, looked, self._looked = self.job, self._looked, None
        version = job.metadata.resource_version if job else ""
        parsed = parse_job(job) if job else None
        if looked is not None and looked.job_version == version:
            return View(
                job=parsed,
                child=self._child(looked.child),
                pods=_parsed_pods(looked.pods),
                service=_parsed_service(looked.service),
                fresh=True,
            )
        child = self._children.get(self._namespace, child_job_name(self._name))
        return View(job=parsed, child=self._child(child), pods=_parsed_pods(tuple(self._pods.objects.values())))

    async def look(self) -> None:
        """Read the job, then the child Job, the pods and the Service of its name, live; for the next view."""
        await self.read_job()
        job = self.job
        child = await self._get(JOBS, child_job_name(self._name), JobWire)
        if child is not None:
            self._children.offer(child)
        listing = await self._client.list(
            PODS, self._namespace, PodWire, label_selector=f"{JOB_NAME_SELECTOR}={child_job_name(self._name)}"
        )
        if listing.unreadable:
            raise Unreadable(f"pods that can't be read: {listing.unreadable}")  # they are there all the same
        service = None
        if job is not None and job.spec.replicas > 1:
            service = await self._get(SERVICES, peers_service_name(self._name), ServiceWire)
        version = job.metadata.resource_version if job else ""
        self._looked = _Look(version, child, tuple(listing.items), service)

    async def read_job(self) -> None:
        """Read the ManagedJob live; that it is gone is left to the watch to tell."""
        job = await self._get(MANAGED_JOBS, self._name, DrivenJobWire)
        if job is not None:
            self._jobs.offer(job)

    def offer_job(self, job: DrivenJobWire) -> None:
        """Take over the answer to our own write."""
        self._jobs.offer(job)

    def offer_child(self, child: JobWire) -> None:
        """Take over the answer to our own write."""
        self._children.offer(child)

    def note_deleted(self, uid: str) -> None:
        """The server took our delete of the child Job with that uid, or has no such object any more."""
        self._deleted.add(uid)

    def _child(self, child: JobWire | None) -> ChildJob | None:
        if child is None:
            return None
        parsed = parse_child_job(child)
        return replace(parsed, deleting=True) if parsed.uid in self._deleted else parsed

    async def _get(self, resource: Resource, name: str, type: type[T]) -> T | None:
        try:
            return await self._client.get(resource, self._namespace, name, type)
        except NotFound:
            return None

    def _wake(self, _old: object, _new: object) -> None:
        self.changed.set()


def _parsed_pods(pods: tuple[PodWire, ...]) -> tuple[Pod, ...]:
    return tuple(parse_pod(pod) for pod in pods)


def _parsed_service(service: ServiceWire | None) -> Service | None:
    return parse_service(service) if service else None
