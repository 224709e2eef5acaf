"""Consistent lists of ManagedJobs and ControllerPools, taken over into the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from managedjobs.api.parse import MalformedObjectError, parse_job
from managedjobs.api.pools import Pool, PoolWire, parse_pool
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.model import JobKey
from managedjobs.kube.backoff import wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.errors import KubeError
from managedjobs.kube.resources import CONTROLLER_POOLS, MANAGED_JOBS
from managedjobs.scheduler.feed import Feed
from managedjobs.scheduler.shell import Shell
from managedjobs.scheduler.store import Store

logger = logging.getLogger(__name__)

LOOK_SECONDS = 30.0
RESYNC_SECONDS = 300.0
_PATIENCE_SECONDS = 20.0
"""How long the watch may take to bring what a list has shown."""


class Lists:
    """Lists what kopf watches: for the start, for a new leader, and to find what a watch did not tell."""

    def __init__(self, client: Client, store: Store, feed: Feed, namespaces: Sequence[str]) -> None:
        self._client = client
        self._store = store
        self._feed = feed
        self._namespaces: tuple[str | None, ...] = tuple(namespaces) or (None,)
        self._restarted = False
        self.filled = asyncio.Event()
        """Set after the first complete list."""
        self.stuck = False
        """Whether the watches were found to have missed changes twice in a row."""

    async def all(self) -> int:
        """List all, as it is now; returns how many jobs differed from what was known. Raises KubeError."""
        pools = await self._client.list(CONTROLLER_POOLS, None, PoolWire)
        self._store.fleet.listed_pools(_readable(pools.items), pools.resource_version)
        differing = 0
        for namespace in self._namespaces:
            listing = await self._client.list(MANAGED_JOBS, namespace, ManagedJobWire)
            for key, problem in listing.unreadable.items():
                logger.warning("object ignored", extra={"object": "/".join(key), "error": problem})
            jobs = (parse_job(item) for item in listing.items)
            unreadable = [JobKey(*key) for key in listing.unreadable]
            now = self._client.clock.now()
            differing += len(self._store.listed_jobs(jobs, unreadable, listing.resource_version, namespace, now))
        self.filled.set()
        return differing

    async def keep(self, shell: Shell, wake: asyncio.Event, stop: asyncio.Event) -> None:
        """List from time to time, and soon after kopf began anew: what went in between, no watch tells of."""
        rounds, age = 0, 0.0
        while not await wait_until(stop, LOOK_SECONDS):
            age += LOOK_SECONDS
            is_new = shell.rounds != rounds
            if not is_new and age < RESYNC_SECONDS:
                continue
            heard = self._feed.count
            try:
                differing = await self.all()
            except KubeError as error:
                logger.warning("list failed", extra={"error": str(error)})
                continue
            rounds, age = shell.rounds, 0.0
            wake.set()
            if not differing:
                self.stuck = False
            elif not is_new:
                await self._doubt(shell, stop, heard, differing)

    async def _doubt(self, shell: Shell, stop: asyncio.Event, heard: int, differing: int) -> None:
        """Start the watches again when they stay silent about what a list shows; `heard`: changes before that list."""
        # A change that is on its way is no sign of a broken watch; one that never comes is.
        await wait_until(stop, _PATIENCE_SECONDS)
        if self._feed.count != heard:
            self._restarted = self.stuck = False
            return
        logger.warning("the watches missed changes, starting them again", extra={"count": differing})
        self.stuck = self._restarted
        self._restarted = True
        shell.restart()


def _readable(items: Sequence[PoolWire]) -> list[Pool]:
    pools = []
    for item in items:
        try:
            pools.append(parse_pool(item))
        except MalformedObjectError as error:
            logger.warning("object ignored", extra={"object": item.metadata.name, "error": str(error)})
    return pools
