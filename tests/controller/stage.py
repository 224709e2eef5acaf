"""A stage for controllers on a real API server without nodes: the test plays the operator and the kubelet."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from managedjobs.controller.main import drive
from managedjobs.controller.settings import Settings
from managedjobs.kube.backoff import pause
from managedjobs.kube.client import Client, Propagation
from managedjobs.kube.credentials import load_credentials
from managedjobs.kube.errors import NotFound
from managedjobs.kube.resources import JOBS, MANAGED_JOBS, NAMESPACES, NODES, PODS, Resource

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
Object = dict[str, Any]
PATIENCE_SECONDS = 20.0
_LOOK_EVERY_SECONDS = 0.03


class Stage:
    """One namespace with one ManagedJob, its controllers, and its pods."""

    def __init__(self, client: Client, kubeconfig: Path, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.name = f"train-{secrets.token_hex(3)}"
        self.uid = ""
        self.kubeconfig = kubeconfig
        self._controllers: list[asyncio.Task[int]] = []

    async def submit(self, **spec: Any) -> None:  # noqa: ANN401 -- any field of the spec
        """Create the ManagedJob; without a template or image it gets an image."""
        given = spec if {"template", "image"} & spec.keys() else {"image": "busybox", "command": ["true"], **spec}
        body = {
            "apiVersion": "managedjobs.dev/v1alpha1",
            "kind": "ManagedJob",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": given,
        }
        self.uid = (await self.client.create(MANAGED_JOBS, self.namespace, body, dict))["metadata"]["uid"]

    def settings(self, pod_uid: str, predecessor: str = "", **more: Any) -> Settings:  # noqa: ANN401 -- any setting
        """The settings of a controller pod of that uid."""
        return Settings(
            namespace=self.namespace,
            name=self.name,
            pod_uid=pod_uid,
            pod_name=f"pod-of-{pod_uid}",
            job_uid=self.uid,
            predecessor=predecessor,
            **more,
        )

    def start(self, pod_uid: str = "first", predecessor: str = "", **more: Any) -> asyncio.Task[int]:  # noqa: ANN401 -- any setting
        """Start a controller in this process; its result is its exit code."""
        controller = asyncio.create_task(self._drive(self.settings(pod_uid, predecessor, **more)))
        self._controllers.append(controller)
        return controller

    async def kill(self, controller: asyncio.Task[int]) -> None:
        """End a controller where it stands, as a crash would."""
        controller.cancel()
        await asyncio.wait((controller,))

    async def open(self) -> None:
        """Create the namespace, and wait until pods can be made in it."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        await self.client.create(NAMESPACES, None, body, dict)

        async def has_account() -> bool:
            return bool((await self.client.list(SERVICE_ACCOUNTS, self.namespace, dict)).items)

        await eventually(has_account, lambda: f"a service account in {self.namespace}")

    async def close(self) -> None:
        """End all controllers, and let the namespace go."""
        for controller in self._controllers:
            await self.kill(controller)
        await self.client.delete(NAMESPACES, None, self.namespace)

    async def job(self) -> Object:
        """The ManagedJob as it is now."""
        return await self.client.get(MANAGED_JOBS, self.namespace, self.name, dict)

    async def child(self) -> Object | None:
        """The Job of its name, or None."""
        try:
            return await self.client.get(JOBS, self.namespace, self.name, dict)
        except NotFound:
            return None

    async def pods(self) -> list[Object]:
        """The pods of its name, by index."""
        selector = f"batch.kubernetes.io/job-name={self.name}"
        listing = await self.client.list(PODS, self.namespace, dict, label_selector=selector)
        return sorted(
            listing.items, key=lambda pod: pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        )

    async def patch_job(self, **spec: Any) -> None:  # noqa: ANN401 -- any field of the spec
        """Change the ManagedJob's spec, as its user would."""
        await self.client.patch(MANAGED_JOBS, self.namespace, self.name, {"spec": spec}, dict)

    async def grant(self) -> None:
        """Give the launch slot, as the operator does."""
        status = (await self.job())["status"]
        number = status["currentAttempt"]["number"] + 1
        start = {"number": number, "startTime": self._now()}
        patch = {
            "phase": "Recovering",
            "reason": "Launching",
            "schedule": {"state": "Launching", "nextRetryTime": None},
            "currentAttempt": {**start, "podsWanted": 1, "upTime": None, "jobUID": None},
            "attempts": [*status["attempts"], start],
            "attemptCount": number,
        }
        await self.patch_status(patch)

    async def patch_status(self, status: Object) -> None:
        """Change the ManagedJob's status."""
        await self.client.patch(
            MANAGED_JOBS, self.namespace, self.name, {"status": status}, dict, subresource="status"
        )

    async def until(self, condition: Callable[[Object], object], what: str) -> Object:
        """The ManagedJob's status once `condition` holds for it."""
        status: Object = {}

        async def holds() -> bool:
            nonlocal status
            status = (await self.job())["status"]
            return bool(condition(status))

        await eventually(holds, lambda: f"{what}; the status is {status}")
        return status

    async def until_phase(self, phase: str) -> Object:
        """The status once the job has that phase."""
        return await self.until(lambda status: status["phase"] == phase, f"phase {phase}")

    async def until_state(self, state: str) -> Object:
        """The status once the job has that schedule state."""
        return await self.until(lambda status: status.get("schedule", {}).get("state") == state, f"state {state}")

    async def until_pods(self, count: int) -> list[Object]:
        """The pods once there are so many, all of them free of a deletion."""
        pods: list[Object] = []

        async def there() -> bool:
            nonlocal pods
            pods = await self.pods()
            return len(pods) == count and not any("deletionTimestamp" in pod["metadata"] for pod in pods)

        await eventually(there, lambda: f"{count} pods; there are {[p['metadata']['name'] for p in pods]}")
        return pods

    async def run_pods(self, count: int = 1) -> list[Object]:
        """Let the kubelet start the pods."""
        pods = await self.until_pods(count)
        for pod in pods:
            await self.set_pod(pod, "Running", {"running": {"startedAt": self._now()}})
        return pods

    async def set_pod(self, pod: Object, phase: str, state: Object, **status: Any) -> None:  # noqa: ANN401 -- any field
        """Let the kubelet report that phase, with that state of each of the pod's containers."""
        names = [container["name"] for container in pod["spec"]["containers"]]
        statuses = [
            {"name": name, "state": state, "image": "busybox", "imageID": "", "ready": False, "restartCount": 0}
            for name in names
        ]
        body = {"status": {"phase": phase, "containerStatuses": statuses, **status}}
        await self.client.patch(PODS, self.namespace, pod["metadata"]["name"], body, dict, subresource="status")

    async def end_pod(self, pod: Object, exit_code: int, message: str = "") -> None:
        """Let the kubelet report the end of the pod's program, at this moment."""
        ended = {
            "exitCode": exit_code,
            "reason": "Completed" if exit_code == 0 else "Error",
            "message": message,
            "finishedAt": self._now(),
        }
        await self.set_pod(pod, "Succeeded" if exit_code == 0 else "Failed", {"terminated": ended})

    async def delete_pod(self, pod: Object) -> None:
        """Delete a running pod, as its user would; the kubelet ends its program and reports so."""
        await self.client.delete(PODS, self.namespace, pod["metadata"]["name"])
        await self.end_pod(pod, 143)

    async def delete_child(self) -> None:
        """Delete the child Job, as its user would."""
        await self.client.delete(JOBS, self.namespace, self.name, propagation="Background")

    async def bind(self, pod: Object, node: str) -> None:
        """Place a pod, as the scheduler does."""
        name = pod["metadata"]["name"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        pod_bindings = Resource("", "v1", f"pods/{name}/binding", "Binding", namespaced=True)
        await self.client.create(pod_bindings, self.namespace, binding, dict)

    async def silence_node(self, node: str, pod: Object) -> None:
        """Let a node fall silent: the node controller reports so, on the node and on its pod."""
        silent = {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "lastTransitionTime": self._now(),
        }
        body = {"status": {"conditions": [silent]}}
        await self.client.patch(NODES, None, node, body, dict, subresource="status")
        unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        name = pod["metadata"]["name"]
        await self.client.patch(PODS, self.namespace, name, unready, dict, subresource="status")

    async def until_there_child(self, condition: Callable[[Object], object]) -> None:
        """Return once the child Job meets the condition."""
        await self.until_there(JOBS, self.name, condition)

    async def suspend_child(self, suspended: bool) -> None:
        """Suspend or resume the child Job, as Kueue would."""
        await self.client.patch(JOBS, self.namespace, self.name, {"spec": {"suspend": suspended}}, dict)

    async def delete_job(self, *, orphan: bool) -> None:
        """Delete the ManagedJob, as its user would."""
        propagation: Propagation = "Orphan" if orphan else "Background"
        await self.client.delete(MANAGED_JOBS, self.namespace, self.name, propagation=propagation)

    async def until_no_child(self) -> None:
        """Return once there is no Job of the name."""

        async def gone() -> bool:
            return await self.child() is None

        await eventually(gone, lambda: "no child Job")

    async def until_there(self, resource: Resource, name: str, condition: Callable[[Object], object]) -> None:
        """Return once that object of the namespace meets the condition."""

        async def there() -> bool:
            return bool(condition(await self.client.get(resource, self.namespace, name, dict)))

        await eventually(there, lambda: f"{resource.kind} {name}")

    def _now(self) -> str:
        return self.client.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    async def _drive(self, settings: Settings) -> int:
        async with Client(load_credentials({"KUBECONFIG": str(self.kubeconfig)})) as client:
            return await drive(client, settings)


def _index(pod: Object) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


async def eventually(condition: Callable[[], Any], what: Callable[[], str]) -> None:
    """Return once the awaited `condition` is true; fails the test, saying what was missing, when it is not in time."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await condition():
                await pause(_LOOK_EVERY_SECONDS)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE_SECONDS:g} s: {what()}") from None


async def exit_code(controller: asyncio.Task[int]) -> int:
    """The exit code of a controller that ends by itself."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await controller
