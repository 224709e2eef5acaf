"""The loop of a controller: see, decide, do one step, see again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from managedjobs.controller.facts import Facts
from managedjobs.controller.hands import Hands
from managedjobs.controller.settings import Settings
from managedjobs.controller.world import World
from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.situation import earliest
from managedjobs.core.driving.steps import Exit, Step, Wait
from managedjobs.kube.backoff import Backoff, wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.errors import KubeError, Unauthorized
from managedjobs.kube.events import EventRecorder

logger = logging.getLogger(__name__)

LONGEST_WAIT = timedelta(minutes=10)
"""Then the loop looks again whatever happens; a timer that was missed costs no more than that."""
SHUT_OUT_AFTER_SECONDS = 60.0
"""So long without valid credentials means that the pod of this process is gone: its token is bound to it."""


class Loop:
    """Drives one job until it is not ours any more."""

    def __init__(
        self, client: Client, settings: Settings, events: EventRecorder, draw_jitter: Callable[[], float]
    ) -> None:
        self.world = World(client, settings.namespace, settings.name)
        self.world.job_uid = settings.job_uid
        self._facts = Facts(client, settings.namespace)
        self._hands = Hands(client, settings, self.world, self._facts, events)
        self._settings = settings
        self._clock = client.clock
        self._draw_jitter = draw_jitter
        self._troubles = Backoff(initial_seconds=0.2, max_seconds=15.0)
        self._same_again = Backoff(initial_seconds=0.1, max_seconds=5.0)
        self._unauthorized_since: float | None = None

    async def run(self) -> Exit:
        """Drive until a decision says to leave; the watches of `world` must run beside it."""
        await self.world.synced()
        if not self.world.job_uid and self.world.job is not None:
            self.world.job_uid = self.world.job.metadata.uid
        before: Step | None = None
        while True:
            self.world.changed.clear()
            try:
                step = await self._pass(before)
            except KubeError as error:
                before = None
                if self._is_shut_out(error):
                    return Exit(why="the API server does not know this pod any more")
                await self._pause_after(error)
                continue
            self._troubles.reset()
            self._unauthorized_since = None
            if isinstance(step, Exit):
                return step
            before = step

    async def _pass(self, before: Step | None) -> Step:
        now = self._clock.now()
        view = self.world.view()
        next_read = await self._facts.gather(view, now)
        view = self._facts.complete(view, self._draw_jitter())
        step = decide_step(view, self._settings.identity(self.world.job_uid), now)
        match step:
            case Exit():
                return step
            case Wait(until):
                self._same_again.reset()
                await self._wait(earliest(until, next_read), now)
            case _:
                if step == before:
                    # It was done and nothing looks different yet: the watch will tell, or it is done again later.
                    await wait_until(self.world.changed, self._same_again.next_seconds())
                await self._hands.carry_out(step, view.job, now)
        return step

    async def _wait(self, until: datetime | None, now: datetime) -> None:
        seconds = min(until - now, LONGEST_WAIT).total_seconds() if until else LONGEST_WAIT.total_seconds()
        await wait_until(self.world.changed, max(0.0, seconds))

    async def _pause_after(self, error: KubeError) -> None:
        delay = self._troubles.next_seconds()
        # An answer that did not come says nothing about the job: it is asked for again, and nothing else is done.
        logger.warning("the API server did not do it", extra={"error": str(error), "delay_seconds": round(delay, 1)})
        await wait_until(self.world.changed, delay)

    def _is_shut_out(self, error: KubeError) -> bool:
        if not isinstance(error, Unauthorized):
            self._unauthorized_since = None
            return False
        moment = self._clock.monotonic()
        if self._unauthorized_since is None:
            self._unauthorized_since = moment
        return moment - self._unauthorized_since >= SHUT_OUT_AFTER_SECONDS
