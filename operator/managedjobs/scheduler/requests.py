"""The requests under way: one for each job, so many at once, and what to do when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from managedjobs.core.scheduling.actions import CreateControllerPod, Effect, Why, WriteStatus
from managedjobs.kube.backoff import Backoff
from managedjobs.kube.clock import Clock
from managedjobs.kube.errors import KubeError
from managedjobs.scheduler.apply import Applier, LeadershipLostError, Outcome, RefusedPodError
from managedjobs.scheduler.pool_desk import PoolDesk
from managedjobs.scheduler.store import Store
from managedjobs.telemetry import metrics

logger = logging.getLogger(__name__)
AT_ONCE = 32


class Requests:
    """Sends effects; a job with one under way is busy, one whose request failed is held for a while."""

    def __init__(self, applier: Applier, desk: PoolDesk, store: Store, clock: Clock, wake: asyncio.Event) -> None:
        self._applier = applier
        self._desk = desk
        self._store = store
        self._clock = clock
        self._wake = wake
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._texts: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, datetime] = {}
        self._backoffs: dict[str, Backoff] = {}
        self.sent = 0
        """Requests so far that were no mere texts."""

    @property
    def count(self) -> int:
        """How many are under way."""
        return len(self._tasks) + len(self._texts)

    def is_busy(self, uid: str) -> bool:
        """Whether a request for the job is under way; texts don't count."""
        return uid in self._tasks

    def held_until(self, uid: str, now: datetime) -> datetime | None:
        """Until when nothing is tried for the job, after a failure; None: now it may."""
        until = self._held.get(uid)
        if until is not None and until <= now:
            del self._held[uid]
            return None
        return until

    def send(self, uid: str, effects: Sequence[Effect]) -> None:
        """Carry out the job's effects, one after the other, up to the first that finds the job changed."""
        self.sent += len(effects)
        self._tasks[uid] = asyncio.create_task(self._run(uid, effects), name=f"job {uid}")

    def send_text(self, write: WriteStatus) -> bool:
        """Write a text; false while another request for the job is under way."""
        uid = write.job.uid
        if uid in self._tasks or uid in self._texts:
            return False
        self._texts[uid] = asyncio.create_task(self._run_text(write), name=f"text of job {uid}")
        return True

    async def drain(self, timeout_seconds: float) -> None:
        """Wait for the answers to all that was sent; what has none by then is given up."""
        tasks = [*self._tasks.values(), *self._texts.values()]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=timeout_seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
            logger.warning("requests given up without an answer", extra={"count": len(late)})

    async def _run(self, uid: str, effects: Sequence[Effect]) -> None:
        try:
            async with self._slots:
                for effect in effects:
                    if not await self._one(uid, effect):
                        break
        finally:
            del self._tasks[uid]
            now = self._clock.now()
            if any(isinstance(effect, CreateControllerPod) for effect in effects):
                self._store.expect(uid, None, now)
            if any(isinstance(effect, WriteStatus) and effect.why is Why.GRANT for effect in effects):
                self._store.set_granting(uid, granting=False, now=now)
            self._store.dirty[uid] = None
            self._wake.set()

    async def _one(self, uid: str, effect: Effect) -> bool:
        """Whether the next effect may follow."""
        try:
            outcome = await self._applier.apply(effect)
        except LeadershipLostError:
            return False
        except RefusedPodError as error:
            self._refused(uid, effect, str(error))
            return False
        except KubeError as error:
            self._hold(uid, str(error))
            return False
        except Exception:
            logger.exception("request failed by a bug of ours", extra={"job": uid})
            self._hold(uid, "a bug", quiet=True)
            return False
        self._backoffs.pop(uid, None)
        if isinstance(effect, CreateControllerPod) and outcome is Outcome.DONE:
            self._desk.accept(effect.job.spec.pool)
        return outcome is Outcome.DONE

    async def _run_text(self, write: WriteStatus) -> None:
        uid = write.job.uid
        try:
            async with self._slots:
                await self._applier.apply(write)
        except LeadershipLostError:
            return
        except KubeError as error:
            self._hold(uid, str(error))
        finally:
            del self._texts[uid]
            self._wake.set()

    def _refused(self, uid: str, effect: Effect, text: str) -> None:
        metrics.ERRORS.labels("RefusedPod").inc()
        if not isinstance(effect, CreateControllerPod):
            return
        now = self._clock.now()
        pool = effect.job.spec.pool
        if self._desk.refuse(pool, text, now):
            logger.error(
                "controller pods are refused", extra={"pool": pool, "job": str(effect.job.key), "error": text}
            )
        self._store.dirty_pools.add(pool)
        self._hold(uid, text, quiet=True)

    def _hold(self, uid: str, text: str, *, quiet: bool = False) -> None:
        """Try nothing for the job for a while, longer each time."""
        backoff = self._backoffs.setdefault(uid, Backoff(initial_seconds=1.0, max_seconds=60.0))
        is_news = backoff.failures == 0
        delay = backoff.next_seconds()
        self._held[uid] = self._clock.now() + timedelta(seconds=delay)
        if not quiet:
            metrics.ERRORS.labels("Refused").inc()
            level = logging.WARNING if is_news else logging.INFO
            job = self._store.jobs.get(uid)
            details = {"job": str(job.key) if job else uid, "error": text, "delay_seconds": round(delay, 1)}
            logger.log(level, "request failed", extra=details)
