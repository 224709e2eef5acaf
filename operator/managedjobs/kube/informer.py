"""An informer: a cache kept right by list and watch, whatever happens to the connection."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

from managedjobs.kube.backoff import Backoff, pause
from managedjobs.kube.cache import Cache, OnChange
from managedjobs.kube.client import Client
from managedjobs.kube.errors import Gone, KubeError, Unreachable
from managedjobs.kube.objects import Key, WatchEvent
from managedjobs.kube.resources import Resource

logger = logging.getLogger(__name__)
T = TypeVar("T")

_TRIES_BEFORE_RELIST = 3  # a resourceVersion that the server never takes again must not be asked for for ever
_STEADY_SECONDS = 5.0  # a watch that lived so long was no failure, even when nothing happened in it


class Informer(Generic[T]):
    """Holds the latest known objects of one resource, and tells of each change.

    `on_change(old, new)` is called synchronously for each real difference: `old` None for a new object, `new` None
    for one that is gone, including those that went while the watch was broken. It must be quick and not raise.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        type: type[T],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        on_change: OnChange[T] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._type = type
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._cache: Cache[T] = Cache(on_change)
        self._backoff = backoff or Backoff(initial_seconds=0.2, max_seconds=30.0)
        self.synced = asyncio.Event()  # set after the first list, and never cleared
        self.last_activity = client.clock.monotonic()  # when the server last told us anything
        self.last_error: str | None = None  # None while all is well

    @property
    def objects(self) -> dict[Key, T]:
        """The latest known objects by (namespace, name); to be read only."""
        return self._cache.objects

    def get(self, namespace: str, name: str) -> T | None:
        """The latest known version of one object, or None; `namespace` "" for cluster-scoped ones."""
        return self._cache.get(namespace, name)

    def offer(self, item: T) -> None:
        """Take over the answer to our own write, before the watch brings it."""
        self._cache.offer(item)

    async def run(self) -> None:
        """Keep the cache right until cancelled; errors of the API are waited out, never raised."""
        while True:
            try:
                resource_version = await self._list()
            except KubeError as error:
                await self._wait_after("list failed", error)
                continue
            await self._follow(resource_version)

    async def _list(self) -> str:
        """List and diff; returns the resourceVersion to watch from."""
        listing = await self._client.list(
            self._resource,
            self._namespace,
            self._type,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )
        for (namespace, name), problem in listing.unreadable.items():
            logger.warning("object ignored", extra={"namespace": namespace, "object": name, "error": problem})
        self._cache.replace(listing)
        self._alive()
        self.synced.set()
        return listing.resource_version

    async def _follow(self, resource_version: str) -> None:
        """Watch, and watch again from where it broke, until only a new list can help."""
        fruitless = 0
        while fruitless < _TRIES_BEFORE_RELIST:
            begun = self._client.clock.monotonic()
            version_before = resource_version
            problem: KubeError | None = None
            try:
                async with contextlib.aclosing(self._watch(resource_version)) as events:
                    async for event in events:
                        self._cache.apply(event)
                        resource_version = event.resource_version or resource_version
                        self._alive()
                        self._backoff.reset()
            except Gone as error:
                # Not at once: a server that answers each watch so must not be listed in a tight loop.
                await self._wait_after("watch expired", error)
                return
            except KubeError as error:
                problem = error
            steady = self._client.clock.monotonic() - begun >= _STEADY_SECONDS
            if resource_version != version_before or (steady and problem is None):
                fruitless = 0
                self._backoff.reset()
            elif not isinstance(problem, Unreachable):  # no answer says nothing of the resourceVersion
                fruitless += 1
            if problem is not None or fruitless:
                await self._wait_after("watch ended", problem)
            else:
                self._alive()

    def _watch(self, resource_version: str) -> AsyncGenerator[WatchEvent[T], None]:
        return self._client.watch(
            self._resource,
            self._namespace,
            self._type,
            resource_version=resource_version,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
        )

    def _alive(self) -> None:
        self.last_activity = self._client.clock.monotonic()
        self.last_error = None

    async def _wait_after(self, what: str, error: KubeError | None) -> None:
        delay = self._backoff.next_seconds()
        self.last_error = str(error) if error else "the server ends each watch at once"
        # One broken connection is daily business; several in a row are worth a look.
        level = logging.WARNING if self._backoff.failures >= _TRIES_BEFORE_RELIST else logging.INFO
        details = {"resource": self._resource.plural, "error": self.last_error, "delay_seconds": round(delay, 2)}
        logger.log(level, what, extra=details)
        await pause(delay)
