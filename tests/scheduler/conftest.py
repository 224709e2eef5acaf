"""A real control plane with our resources, and a namespace with what the operator needs in it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from managedjobs.api.names import API_VERSION
from managedjobs.api.parse import parse_job
from managedjobs.api.pools import PoolWire
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.model import Job
from managedjobs.kube.backoff import pause
from managedjobs.kube.client import Client
from managedjobs.kube.credentials import load_credentials
from managedjobs.kube.informer import Informer
from managedjobs.kube.resources import CONTROLLER_POOLS, MANAGED_JOBS
from tests.cluster.console import wait_until
from tests.scheduler.fake_controllers import manifest, pool_manifest
from tests.scheduler.operator_process import OperatorProcess
from tests.support.cluster_fixtures import Kubectl
from tests.support.waiting import until

CRDS = Path(__file__).parents[2] / "crds"
SERVED_SECONDS = 60.0
CONNECTIONS_CLOSE_SECONDS = 0.05
"""For what the event loop has still to do about closed connections before it ends."""
PATIENCE = 30.0


@dataclass
class Site:
    """One installation of the operator: its namespace is also the only one whose jobs it sees."""

    client: Client
    kubeconfig: Path
    namespace: str
    folder: Path
    jobs: dict[str, Job] = field(default_factory=dict)
    """The jobs by name, as a watch shows them."""
    history: list[Job] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)

    def operator(self, **settings: str) -> OperatorProcess:
        """An operator of this installation."""
        return OperatorProcess(
            self.kubeconfig,
            self.folder,
            **{
                "NAMESPACE": self.namespace,
                "WORKLOAD_NAMESPACES": self.namespace,
                "CONTROLLER_SERVICE_ACCOUNT": "default",
                "POD_NAME": "operator-0",
                **settings,
            },
        )

    async def make_pool(self, name: str, **spec: Any) -> str:  # noqa: ANN401 -- any field of the spec
        """Create a ControllerPool; its name is made unique."""
        unique = f"{name}-{self.namespace}"
        self.pools.append(unique)
        await self.client.create(CONTROLLER_POOLS, None, pool_manifest(unique, **spec), PoolWire)
        return unique

    async def make_job(self, name: str, **spec: Any) -> None:  # noqa: ANN401 -- any field of the spec
        """Create a ManagedJob."""
        await self.client.create(MANAGED_JOBS, self.namespace, manifest(name, **spec), ManagedJobWire)

    async def change_job(self, name: str, **spec: Any) -> None:  # noqa: ANN401 -- any field of the spec
        """Change fields of a ManagedJob's spec."""
        await self.client.patch(MANAGED_JOBS, self.namespace, name, {"spec": spec}, ManagedJobWire)

    async def list_pools(self) -> list[dict[str, Any]]:
        """All ControllerPools."""
        return (await self.client.list(CONTROLLER_POOLS, None, dict)).items

    async def job_is(self, name: str, what: str, holds: Any, seconds: float = PATIENCE) -> Job:  # noqa: ANN401 -- a predicate of a Job
        """Wait until the job is so, and return it."""
        try:
            await until(lambda: name in self.jobs and holds(self.jobs[name]), f"{name}: {what}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {self.jobs.get(name)}") from None
        return self.jobs[name]

    def on_change(self, old: ManagedJobWire | None, new: ManagedJobWire | None) -> None:
        """Follow the jobs."""
        if new is not None:
            job = parse_job(new)
            self.jobs[job.name] = job
            self.history.append(job)
        elif old is not None:
            self.jobs.pop(old.metadata.name, None)


@pytest.fixture(scope="session")
def served(control_plane: Path) -> Path:
    """The kubeconfig of a control plane that serves our resources."""
    kubectl = Kubectl(control_plane)
    kubectl("apply", "-f", str(CRDS / "managedjobs.yaml"), "-f", str(CRDS / "controllerpools.yaml"))
    wait_until(
        lambda: kubectl("get", "managedjobs,controllerpools", "-A", check=False).returncode == 0,
        f"the API server to serve {API_VERSION}",
        SERVED_SECONDS,
    )
    return control_plane


@pytest.fixture
def own_namespace(served: Path) -> Iterator[str]:
    """A namespace with a service account, for an installation of its own."""
    kubectl = Kubectl(served)
    name = f"mj-{secrets.token_hex(4)}"
    kubectl("create", "namespace", name)
    wait_until(
        lambda: kubectl("get", "serviceaccount", "default", "-n", name, check=False).returncode == 0,
        f"the service account of {name}",
        SERVED_SECONDS,
    )
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def site(served: Path, own_namespace: str, tmp_path: Path) -> AsyncIterator[Site]:
    """An installation without an operator yet."""
    async with Client(load_credentials({"KUBECONFIG": str(served)})) as client:
        made = Site(client, served, own_namespace, tmp_path)
        informer = Informer(client, MANAGED_JOBS, ManagedJobWire, namespace=own_namespace, on_change=made.on_change)
        watch = asyncio.create_task(informer.run())
        await informer.synced.wait()
        yield made
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        for pool in made.pools:
            await client.delete(CONTROLLER_POOLS, None, pool)
    await pause(CONNECTIONS_CLOSE_SECONDS)
