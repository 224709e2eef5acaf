"""Kubelet and controllers of a test: each controller pod runs at once, takes its job over and plays a part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from managedjobs.api.controller_pod import ControllerPodWire, parse_controller_pod
from managedjobs.api.names import CONTROLLER_SELECTOR
from managedjobs.api.parse import parse_job
from managedjobs.api.render import status_patch
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.conditions import settle
from managedjobs.core.model import AttemptRecord, ControllerRef, CurrentAttempt, Job, JobKey, JobStatus
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.kube.backoff import pause
from managedjobs.kube.client import Client
from managedjobs.kube.errors import Conflict, KubeError, NotFound
from managedjobs.kube.informer import Informer
from managedjobs.kube.resources import MANAGED_JOBS, PODS, Resource

Part = Callable[["FakeControllers", ControllerPod], Awaitable[None]]
Change = Callable[[JobStatus], JobStatus]


class FakeControllers:
    """Plays `part` for each controller pod of a release namespace; a job's own part is in `parts` by its name."""

    def __init__(self, client: Client, namespace: str, part: Part) -> None:
        self.client = client
        self.namespace = namespace
        self.part = part
        self.parts: dict[str, Part] = {}
        self.seen: list[ControllerPod] = []
        """Every pod, in the order of their creation."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._gone: dict[str, asyncio.Event] = {}
        self._informer = Informer(
            client,
            PODS,
            ControllerPodWire,
            namespace=namespace,
            label_selector=CONTROLLER_SELECTOR,
            on_change=self._on_change,
        )

    async def __aenter__(self) -> FakeControllers:
        self._watch = asyncio.create_task(self._informer.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [self._watch, *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def pods(self) -> list[ControllerPod]:
        """The pods that exist."""
        return [pod for wire in self._informer.objects.values() if (pod := parse_controller_pod(wire)) is not None]

    def gone(self, pod: ControllerPod) -> asyncio.Event:
        """Set when the pod's object is gone."""
        return self._gone[pod.uid]

    # --- what a controller and a kubelet do

    async def run_pod(self, pod: ControllerPod) -> None:
        """Place the pod on a node and run it."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": self.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "a-node"},
        }
        await self.client.create(_binding_of(pod.name), self.namespace, binding, dict)
        await self._set_phase(pod, "Running")

    async def end_pod(self, pod: ControllerPod, phase: str = "Succeeded") -> None:
        """The pod's program has ended."""
        await self._set_phase(pod, phase)

    async def write(self, pod: ControllerPod, change: Change) -> Job:
        """Change the job's status as its controller; repeated on a conflict."""
        while True:
            wire = await self.client.get(MANAGED_JOBS, pod.job.namespace, pod.job.name, ManagedJobWire)
            job = parse_job(wire)
            now = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 -- a test's own clock
            status = settle(job.status, change(job.status), generation=job.generation, now=now)
            patch = status_patch(job, status)
            if patch is None:
                return job
            try:
                written = await self.client.patch(
                    MANAGED_JOBS, job.namespace, job.name, patch, ManagedJobWire, subresource="status"
                )
            except Conflict:
                continue
            return parse_job(written)

    async def take_over(self, pod: ControllerPod) -> Job:
        """The first write of a controller: of a waiting job it is attempt 1, of a live one nothing but the fence."""

        def change(status: JobStatus) -> JobStatus:
            assert status.fence == pod.predecessor, f"{pod.name} came to take over from another"
            before = status.controller
            controller = replace(before or ControllerRef(pod_uid=""), pod_uid=pod.uid, pod_name=pod.name)
            if status.state is not ScheduleState.WAITING:
                return replace(status, controller=controller)
            return replace(
                to_state(ScheduleState.LAUNCHING, Phase.LAUNCHING)(status),
                controller=controller,
                current_attempt=CurrentAttempt(number=1, job_name=pod.job.name),
                attempts=(AttemptRecord(number=1),),
                attempt_count=1,
            )

        return await self.write(pod, change)

    async def move(self, pod: ControllerPod, state: ScheduleState, phase: Phase) -> Job:
        """Write another state."""
        return await self.write(pod, to_state(state, phase))

    async def _set_phase(self, pod: ControllerPod, phase: str) -> None:
        body = {"status": {"phase": phase}}
        await self.client.patch(PODS, self.namespace, pod.name, body, dict, subresource="status")

    def _on_change(self, old: ControllerPodWire | None, new: ControllerPodWire | None) -> None:
        if new is None and old is not None:
            self._gone.setdefault(old.metadata.uid, asyncio.Event()).set()
        pod = parse_controller_pod(new) if new is not None else None
        if old is None and pod is not None:
            self.seen.append(pod)
            self._gone.setdefault(pod.uid, asyncio.Event())
            task = asyncio.create_task(self._play(pod))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif pod is not None and pod.deletion_time is not None:
            task = asyncio.create_task(self._remove(pod))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _play(self, pod: ControllerPod) -> None:
        try:
            await self.parts.get(pod.job.name, self.part)(self, pod)
        except NotFound:
            return  # the pod or its job was deleted under its hands

    async def _remove(self, pod: ControllerPod) -> None:
        """What a kubelet does when a pod was deleted and its program has ended."""
        try:
            await self.client.delete(PODS, self.namespace, pod.name, uid=pod.uid, grace_seconds=0)
        except KubeError:
            return


def _binding_of(name: str) -> Resource:
    return Resource("", "v1", f"pods/{name}/binding", "Binding", namespaced=True)


def to_state(state: ScheduleState, phase: Phase) -> Change:
    """The change to another state, with nothing else."""

    def change(status: JobStatus) -> JobStatus:
        schedule = replace(status.schedule, state=state, position=None)
        return replace(status, schedule=schedule, phase=phase, reason=phase.value, description=f"{phase.value}.")

    return change


async def run_to_the_end(stage: FakeControllers, pod: ControllerPod) -> None:
    """A job that launches, runs for a moment, and succeeds."""
    await stage.run_pod(pod)
    await stage.take_over(pod)
    await pause(0.05)
    await stage.move(pod, ScheduleState.ALIVE, Phase.RUNNING)
    await pause(0.05)
    await stage.move(pod, ScheduleState.DONE, Phase.SUCCEEDED)
    await stage.end_pod(pod)


async def stay_alive(stage: FakeControllers, pod: ControllerPod) -> None:
    """A job that comes up and stays."""
    await stage.run_pod(pod)
    job = await stage.take_over(pod)
    if job.status.state is ScheduleState.LAUNCHING:
        await stage.move(pod, ScheduleState.ALIVE, Phase.RUNNING)


async def never_start(_stage: FakeControllers, _pod: ControllerPod) -> None:
    """A pod that nothing happens to."""


async def job_of(client: Client, key: JobKey) -> Job:
    """The job as it is now."""
    return parse_job(await client.get(MANAGED_JOBS, key.namespace, key.name, ManagedJobWire))


def manifest(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 -- any field of the spec
    """A ManagedJob to create."""
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ManagedJob",
        "metadata": {"name": name},
        "spec": {"image": "registry.example/work:1", **spec},
    }


def pool_manifest(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 -- any field of the spec
    """A ControllerPool with room for many, to create."""
    capacity = {"cpu": "10", "memory": "10Gi"}
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ControllerPool",
        "metadata": {"name": name},
        "spec": {"capacity": capacity, **spec},
    }
