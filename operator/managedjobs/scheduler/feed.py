"""What kopf's thread hands to the scheduler's: changes of ManagedJobs and ControllerPools, in order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from managedjobs.api.parse import MalformedObjectError, job_from_object
from managedjobs.api.pools import Pool, pool_from_object
from managedjobs.core.model import Job

logger = logging.getLogger(__name__)

EventType = Literal["ADDED", "MODIFIED", "DELETED"] | None
"""None: kopf found the object in a list."""


class Change(NamedTuple):
    """One object as an event brought it; `deleted`: it is gone."""

    item: Job | Pool
    deleted: bool


class Feed:
    """Taken from in the thread of `loop`; `wake` is called there when there is something to take."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self._changes: deque[Change] = deque()
        self._announced = False
        self.count = 0
        """Changes so far."""

    def job(self, event: Mapping[str, Any]) -> None:
        """A ManagedJob's event, in kopf's thread."""
        self._offer(event, job_from_object)

    def pool(self, event: Mapping[str, Any]) -> None:
        """A ControllerPool's event, in kopf's thread."""
        self._offer(event, pool_from_object)

    def take(self) -> list[Change]:
        """All changes since the last call."""
        self._announced = False
        taken: list[Change] = []
        while self._changes:
            taken.append(self._changes.popleft())
        return taken

    def _offer(self, event: Mapping[str, Any], read: Callable[[Mapping[str, object]], Job | Pool]) -> None:
        try:
            item = read(event["object"])
        except MalformedObjectError as error:
            meta = event["object"].get("metadata", {})
            where = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
            logger.warning("object ignored", extra={"object": where, "error": str(error)})
            return
        self._changes.append(Change(item, event["type"] == "DELETED"))
        self.count += 1
        if not self._announced:
            self._announced = True
            self._loop.call_soon_threadsafe(self._wake)
