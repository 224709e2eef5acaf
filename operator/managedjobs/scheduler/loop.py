"""The one loop: what changed, what follows from it, who is admitted, what is said; then the requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from managedjobs.api.names import controller_pod_name
from managedjobs.api.pools import Pool
from managedjobs.core.conditions import IllegalTransitionError
from managedjobs.core.model import Job
from managedjobs.core.scheduling.actions import CheckAgainAt, CreateControllerPod, Effect, Why, WriteStatus
from managedjobs.core.scheduling.admission import Candidate, admit, claim, grant
from managedjobs.core.scheduling.decide import decide
from managedjobs.core.scheduling.pool_status import PoolStatus
from managedjobs.core.scheduling.usage import Want
from managedjobs.core.scheduling.view import ExpectedPod, OperatorView
from managedjobs.kube.backoff import wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.errors import KubeError
from managedjobs.scheduler.alarm import Alarms
from managedjobs.scheduler.apply import Applier
from managedjobs.scheduler.feed import Feed
from managedjobs.scheduler.pool_desk import PoolDesk
from managedjobs.scheduler.requests import Requests
from managedjobs.scheduler.store import Store
from managedjobs.scheduler.texts import Texts
from managedjobs.telemetry import metrics

logger = logging.getLogger(__name__)

LONGEST_WAIT = 5.0
"""Seconds; the loop looks around so often even when nothing happens, and the health check expects it to."""
_SOONEST = timedelta(milliseconds=100)
_TEXTS_PER_SECOND = 50
_TEXT_EVERY = timedelta(milliseconds=250)
_TEXT_IDLE = timedelta(seconds=1)
_POOL_RETRY = timedelta(seconds=5)
_BUSY = 16
"""With so many requests under way, texts wait."""


class Scheduler:
    """Runs passes over what changed; only while it `lead`s does it decide anything."""

    def __init__(self, client: Client, store: Store, feed: Feed, applier: Applier, wake: asyncio.Event) -> None:
        self._client = client
        self._store = store
        self._feed = feed
        self._applier = applier
        self._wake = wake
        self._alarms = Alarms()
        self._desk = PoolDesk(store)
        self._texts = Texts(store)
        self._text_at: datetime | None = None
        self._sent_before = 0
        self._unreported: set[str] = set()
        self._requests = Requests(applier, self._desk, store, client.clock, wake)
        self._pool_write: asyncio.Task[None] | None = None
        self._term: int | None = None
        self.has_led = asyncio.Event()
        """Set when it began to decide for the first time."""
        self._passed_at = client.clock.monotonic()

    async def run(self) -> None:
        """Make passes until cancelled."""
        while True:
            self._wake.clear()
            with metrics.PASS_SECONDS.time():
                self.step()
            await wait_until(self._wake, self._seconds_to_next())

    def lead(self, term: int) -> None:
        """Begin to decide, as the leader of that term: about everything."""
        self._term = term
        self._store.dirty.update(dict.fromkeys(self._store.all_uids()))
        self._store.dirty_pools.update(self._store.lines, self._store.fleet.pools)
        metrics.LEADER.set(1)
        self.has_led.set()
        self._wake.set()

    async def stop_leading(self, timeout_seconds: float) -> None:
        """Decide nothing any more, and wait for the answers to what was sent."""
        self._term = None
        metrics.LEADER.set(0)
        await self._requests.drain(timeout_seconds)
        if self._pool_write is not None:
            self._pool_write.cancel()

    def seconds_since_pass(self) -> float:
        """How long ago the last pass was."""
        return self._client.clock.monotonic() - self._passed_at

    def step(self) -> None:
        """One pass."""
        now = self._client.clock.now()
        self._passed_at = self._client.clock.monotonic()
        self.take_feed(now)
        if self._term is None:
            return
        for name in self._alarms.due(now):
            self._ring(name)
        self._decide(self._term, now)
        pools = self._changed_pools()
        for pool in pools:
            self._admit(pool, self._term, now)
        self._tell(pools, now)
        self._report(pools, now)

    def take_feed(self, now: datetime) -> None:
        """Take over what kopf heard of."""
        for item, deleted in self._feed.take():
            if isinstance(item, Pool):
                if deleted:
                    self._store.fleet.remove_pool(item.name, item.uid)
                else:
                    self._store.fleet.put_pool(item)
            elif deleted:
                self._store.remove_job(item.uid, now)
            else:
                self._store.put_job(item, now)

    # --- jobs

    def _ring(self, name: str) -> None:
        kind, _, what = name.partition(":")
        if kind == "pool":
            self._store.dirty_pools.add(what)
        else:
            self._store.dirty[what] = None

    def _decide(self, term: int, now: datetime) -> None:
        dirty, self._store.dirty = self._store.dirty, {}
        for uid in dirty:
            if self._requests.is_busy(uid):
                continue  # it is dirty again when its request has its answer
            held_until = self._requests.held_until(uid, now)
            if held_until is not None:
                self._alarms.set(f"job:{uid}", held_until)
                continue
            self._store.look_again(uid)
            view = self._store.view(uid)
            if view is None:
                continue
            effects = self._effects(view, term, now)
            if effects:
                self._dispatch(uid, effects, now)

    def _effects(self, view: OperatorView, term: int, now: datetime) -> list[Effect]:
        effects: list[Effect] = []
        try:
            actions = decide(view, term, now)
        except IllegalTransitionError:
            logger.exception("a decision the protocol does not allow, not carried out", extra={"job": str(view.key)})
            return []
        for action in actions:
            if isinstance(action, CheckAgainAt):
                self._alarms.set(f"job:{view.uid}", max(action.moment, now + _SOONEST))
            else:
                effects.append(action)
        return effects

    def _dispatch(self, uid: str, effects: list[Effect], now: datetime) -> None:
        for effect in effects:
            if isinstance(effect, CreateControllerPod):
                name = controller_pod_name(effect.job.name, uid, effect.predecessor)
                self._store.expect(uid, ExpectedPod(name=name, predecessor=effect.predecessor), now)
            elif isinstance(effect, WriteStatus) and effect.why is Why.GRANT:
                self._store.set_granting(uid, granting=True, now=now)
        self._requests.send(uid, effects)

    # --- pools

    def _changed_pools(self) -> list[str]:
        changed = self._store.dirty_pools | self._store.fleet.changed
        self._store.dirty_pools = set()
        self._store.fleet.changed = set()
        return sorted(changed)

    def _admit(self, pool: str, term: int, now: datetime) -> None:
        line = self._store.lines.get(pool)
        moment = self._desk.next_look(pool, line, now)
        if moment is not None:
            self._alarms.set(f"pool:{pool}", moment)
        if line is None or not line.waiting:
            return
        facts = self._desk.facts(pool, line, now)
        admitted = admit(facts, line.usage(), self._free(line.new, now), self._free(line.live, now))
        for candidate in admitted:
            job = self._store.jobs[candidate.uid]
            self._dispatch(candidate.uid, [_admission(candidate, job, term, now)], now)

    def _free(self, candidates: Iterable[Candidate], now: datetime) -> Iterable[Candidate]:
        """Those that no request is under way for, and that are not held after a failed one."""
        for candidate in candidates:
            if not self._requests.is_busy(candidate.uid) and self._requests.held_until(candidate.uid, now) is None:
                yield candidate

    # --- what is said

    def _tell(self, changed: Iterable[str], now: datetime) -> None:
        """Refresh texts of waiting jobs, when there is nothing better to do."""
        for pool in changed:
            self._texts.pool_changed(pool)
        is_early = self._text_at is not None and now < self._text_at
        if is_early or self._requests.count >= _BUSY:
            return
        left = budget = self._text_budget()
        for pool, line in list(self._store.lines.items()):
            if left <= 0:
                break
            if not self._texts.is_settled(line):
                for write in self._texts.due(self._desk.facts(pool, line, now), line, left, now):
                    self._requests.send_text(write)
                    left -= 1
        self._text_at = now + (_TEXT_EVERY if left < budget else _TEXT_IDLE)

    def _text_budget(self) -> int:
        """Texts to write now: the fewer, the more there was to do since the last time."""
        others, self._sent_before = self._requests.sent - self._sent_before, self._requests.sent
        most = int(_TEXTS_PER_SECOND * _TEXT_EVERY.total_seconds())
        return max(1, most - others)

    def _report(self, changed: Iterable[str], now: datetime) -> None:
        """Write the status of the pools that changed, one at a time."""
        self._unreported.update(changed)
        if self._pool_write is not None and not self._pool_write.done():
            return
        for name in sorted(self._unreported):
            self._unreported.discard(name)
            due = self._desk.status_due(name, self._store.lines.get(name), now)
            if isinstance(due, datetime):
                self._alarms.set(f"pool:{name}", due)
            elif due is not None:
                self._pool_write = asyncio.create_task(self._write_pool(*due), name=f"status of pool {name}")
                return

    async def _write_pool(self, pool: Pool, status: PoolStatus) -> None:
        try:
            await self._desk.write_status(self._client, pool, status)
        except KubeError as error:
            logger.warning("pool status not written", extra={"pool": pool.name, "error": str(error)})
            self._alarms.set(f"pool:{pool.name}", self._client.clock.now() + _POOL_RETRY)
        self._wake.set()

    def _seconds_to_next(self) -> float:
        moments = [moment for moment in (self._alarms.next(),) if moment is not None]
        if self._text_at is not None and not all(self._texts.is_settled(line) for line in self._store.lines.values()):
            moments.append(self._text_at)
        if not moments:
            return LONGEST_WAIT
        seconds = (min(moments) - self._client.clock.now()).total_seconds()
        return min(LONGEST_WAIT, max(0.01, seconds))


def _admission(candidate: Candidate, job: Job, term: int, now: datetime) -> Effect:
    return claim(job) if candidate.want is Want.CLAIM else grant(job, term, now)
