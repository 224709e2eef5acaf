"""What is known of a pool beyond its objects: whether it has room, and when its status was written last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from managedjobs.api.pools import Pool, PoolWire, pool_status_patch
from managedjobs.core.scheduling.admission import PoolFacts
from managedjobs.core.scheduling.pool_status import OUR_CONDITIONS, PoolStatus, pool_status
from managedjobs.kube.backoff import Backoff
from managedjobs.kube.client import Client
from managedjobs.kube.resources import CONTROLLER_POOLS
from managedjobs.scheduler.lines import Line
from managedjobs.scheduler.store import Store

STUCK_AFTER = timedelta(seconds=5)
"""How long a controller pod may be unschedulable before admission pauses."""
STATUS_EVERY = timedelta(seconds=1)


@dataclass(slots=True)
class _Refusal:
    text: str
    until: datetime
    backoff: Backoff


class PoolDesk:
    """Answers for the pools."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._refusals: dict[str, _Refusal] = {}
        self._written: dict[str, tuple[str, PoolStatus]] = {}
        self._written_at: dict[str, datetime] = {}

    def facts(self, name: str, line: Line | None, now: datetime) -> PoolFacts:
        """What admission needs to know of the pool."""
        pool = self._store.fleet.pools.get(name)
        refusal = self._refusals.get(name)
        return PoolFacts(
            name=name,
            spec=pool.spec if pool else None,
            limits=self._store.fleet.limits(name),
            has_room=line is None or not _is_stuck(line, now),
            refusal=refusal.text if refusal is not None and now < refusal.until else "",
        )

    def next_look(self, name: str, line: Line | None, now: datetime) -> datetime | None:
        """When the facts may change by time alone."""
        moments = []
        refusal = self._refusals.get(name)
        if refusal is not None and refusal.until > now:
            moments.append(refusal.until)
        if line is not None:
            moments += [at + STUCK_AFTER for at in line.unschedulable.values() if at + STUCK_AFTER > now]
        return min(moments, default=None)

    def refuse(self, name: str, text: str, now: datetime) -> bool:
        """The API server did not take a controller pod: pause, longer each time. True when the text is news."""
        known = self._refusals.get(name)
        backoff = known.backoff if known is not None else Backoff(initial_seconds=2.0, max_seconds=60.0)
        until = now + timedelta(seconds=backoff.next_seconds())
        self._refusals[name] = _Refusal(text, until, backoff)
        return known is None or known.text != text

    def accept(self, name: str) -> None:
        """The API server takes controller pods of the pool."""
        self._refusals.pop(name, None)

    def status_due(self, name: str, line: Line | None, now: datetime) -> tuple[Pool, PoolStatus] | datetime | None:
        """The pool's status if it differs from what was written; a moment: not before then; None: nothing to write."""
        pool = self._store.fleet.pools.get(name)
        if pool is None:
            return None
        earliest = self._written_at.get(name, now - STATUS_EVERY) + STATUS_EVERY
        if now < earliest:
            return earliest
        counted = line if line is not None else Line(name)
        facts = self.facts(name, line, now)
        uid, before = self._written.get(name, ("", None))
        conditions = pool.conditions
        if uid == pool.uid and before is not None:
            # Ours as they were written last, for the watch may not have brought them yet; others' as they are.
            others = [c for c in pool.conditions if c.type not in OUR_CONDITIONS]
            conditions = (*others, *(c for c in before.conditions if c.type in OUR_CONDITIONS))
        status = pool_status(facts, counted.usage(), counted.census(), conditions, generation=pool.generation, now=now)
        if uid == pool.uid and before is not None and pool_status_patch(before, status) is None:
            return None
        return pool, status

    async def write_status(self, client: Client, pool: Pool, status: PoolStatus) -> None:
        """Write it. Raises KubeError."""
        self._written_at[pool.name] = client.clock.now()
        uid, before = self._written.get(pool.name, ("", None))
        patch = pool_status_patch(before if uid == pool.uid else None, status)
        if patch is not None:
            self._written.pop(pool.name, None)  # what a failed write did is not known: the next one says all
            await client.patch(CONTROLLER_POOLS, None, pool.name, patch, PoolWire, subresource="status")
        self._written[pool.name] = (pool.uid, status)


def _is_stuck(line: Line, now: datetime) -> bool:
    return any(now - created >= STUCK_AFTER for created in line.unschedulable.values())
