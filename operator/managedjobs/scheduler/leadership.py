"""From holding the Lease to deciding, and back."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from managedjobs.api.controller_manifest import controller_pod
from managedjobs.api.controller_pod import ControllerPodWire
from managedjobs.api.names import CONTROLLER_SELECTOR, DEFAULT_POOL, LEADER_TERM_ANNOTATION
from managedjobs.api.nodes import NodeWire
from managedjobs.api.pools import PoolWire, default_pool
from managedjobs.core.model import Job
from managedjobs.core.scheduling.pool import PoolSpec
from managedjobs.kube.backoff import Backoff, wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.errors import AlreadyExists, ApiError, Forbidden, KubeError, Unreachable
from managedjobs.kube.informer import Informer
from managedjobs.kube.lease import Elector, process_identity
from managedjobs.kube.resources import CONTROLLER_POOLS, PODS
from managedjobs.scheduler.apply import Applier
from managedjobs.scheduler.lists import Lists
from managedjobs.scheduler.loop import Scheduler
from managedjobs.scheduler.store import Store
from managedjobs.settings import Settings

logger = logging.getLogger(__name__)
DRAIN_SECONDS = 5.0
SYNC_SECONDS = 10.0


class Leadership:
    """Stands for election again and again; while elected, and once all is read anew, the scheduler decides."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        store: Store,
        lists: Lists,
        pods: Informer[ControllerPodWire],
        nodes: Informer[NodeWire],
        applier: Applier,
        scheduler: Scheduler,
    ) -> None:
        self._client = client
        self._settings = settings
        self._store = store
        self._lists = lists
        self._pods = pods
        self._nodes = nodes
        self._applier = applier
        self._scheduler = scheduler

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; then nothing is under way any more and the Lease is free."""
        while not stop.is_set():
            identity = process_identity(self._settings.pod_name)
            elector = Elector(self._client, self._settings.namespace, self._settings.lease_name, identity)
            election = asyncio.create_task(elector.run(), name="election")
            try:
                await _first(stop, elector.acquired, election)
                if elector.acquired.is_set() and not stop.is_set():
                    await self._lead(elector, stop)
            finally:
                await self._scheduler.stop_leading(DRAIN_SECONDS)
                await elector.release()
                election.cancel()
                await asyncio.wait([election])

    async def _lead(self, elector: Elector, stop: asyncio.Event) -> None:
        term = elector.term or 0
        self._applier.term = term
        leads = self._applier.leading = lambda: elector.leading and not stop.is_set()
        backoff = Backoff(initial_seconds=0.2, max_seconds=10.0)
        while leads():
            try:
                await self._await_informers()
                await self._make_default_pool()
                await self._await_acceptance(term, elector, stop)
                await self._read_all()
            except KubeError as error:
                logger.warning("not deciding yet", extra={"error": str(error)})
                await wait_until(stop, backoff.next_seconds())
                continue
            if not leads():
                return
            logger.info("deciding", extra={"term": term, "jobs": len(self._store.jobs)})
            self._scheduler.lead(term)
            await _first(stop, elector.lost)
            return

    async def _read_all(self) -> None:
        """Consistent lists: what was written by anyone before we got the Lease is in them."""
        await self._lists.all()
        listing = await self._client.list(
            PODS, self._settings.namespace, ControllerPodWire, label_selector=CONTROLLER_SELECTOR
        )
        for pod in listing.items:
            self._pods.offer(pod)

    async def _await_informers(self) -> None:
        for informer in (self._pods, self._nodes):
            if not await wait_until(informer.synced, SYNC_SECONDS):
                raise Unreachable(informer.last_error or "the first list takes long")

    async def _make_default_pool(self) -> None:
        if self._settings.default_pool is None:
            return
        try:
            await self._client.create(CONTROLLER_POOLS, None, default_pool(self._settings.default_pool), PoolWire)
        except AlreadyExists:
            return
        logger.info("made the pool of the settings", extra={"pool": DEFAULT_POOL})

    async def _await_acceptance(self, term: int, elector: Elector, stop: asyncio.Event) -> None:
        """Wait until the API server knows our term: its policy may still hold the last leader's for a moment."""
        body = controller_pod(
            self._settings.controller,
            _NOBODY,
            PoolSpec(),
            predecessor="",
            term=term,
            account_uid=self._applier.account_uid,
        )
        backoff = Backoff(initial_seconds=0.1, max_seconds=1.0)
        while elector.leading and not stop.is_set():
            try:
                await self._client.create(PODS, self._settings.namespace, body, ControllerPodWire, dry_run=True)
            except ApiError as error:
                if isinstance(error, Forbidden) and LEADER_TERM_ANNOTATION in error.message:
                    await wait_until(stop, backoff.next_seconds())
                    continue
                logger.warning("controller pods are refused", extra={"error": error.message})
            return


_NOBODY = Job(
    namespace="default",
    name="leader-check",
    uid="leader-check",
    resource_version="0",
    created=datetime.fromtimestamp(0, UTC),
)
"""Whose controller pod is created in a dry run."""


async def _first(stop: asyncio.Event, event: asyncio.Event, task: asyncio.Task[None] | None = None) -> None:
    """Wait for either event, or for the end of the task."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(stop.wait()), asyncio.create_task(event.wait())]
    others = [task] if task is not None else []
    try:
        await asyncio.wait([*waits, *others], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
