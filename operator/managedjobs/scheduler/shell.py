"""Runs kopf in a thread of its own, and starts it again when it ends."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence

import uvloop

from managedjobs.kube.backoff import Backoff, wait_until
from managedjobs.scheduler.feed import Feed

logger = logging.getLogger(__name__)
_STOP_SECONDS = 5.0


class Shell:
    """Keeps one kopf operator running. A thread of its own: its bursts of work must not hold up decisions."""

    def __init__(self, feed: Feed, namespaces: Sequence[str]) -> None:
        self._feed = feed
        self._namespaces = tuple(namespaces)
        self._round: _Round | None = None
        self._stop = asyncio.Event()
        self.rounds = 0
        """How often kopf was started."""

    async def run(self) -> None:
        """Keep it running until `stop`."""
        backoff = Backoff(initial_seconds=1.0, max_seconds=30.0)
        while not self._stop.is_set():
            self._round = _Round(self._feed, self._namespaces)
            self.rounds += 1
            problem = await self._round.run()
            if self._stop.is_set():
                return
            delay = backoff.next_seconds()
            logger.warning("watches ended, starting again", extra={"error": problem, "delay_seconds": round(delay, 1)})
            await wait_until(self._stop, delay)

    def restart(self) -> None:
        """End the present round; the next one lists and watches anew."""
        if self._round is not None:
            self._round.end()

    async def stop(self) -> None:
        """End for good."""
        self._stop.set()
        if self._round is not None:
            self._round.end()
            await self._round.wait(_STOP_SECONDS)


class _Round:
    """One life of the kopf operator."""

    def __init__(self, feed: Feed, namespaces: Sequence[str]) -> None:
        self._feed = feed
        self._namespaces = namespaces
        self._ours = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._stop_flag = threading.Event()
        self._problem = "it was asked to"

    async def run(self) -> str:
        """Run until kopf ends; returns why it did."""
        threading.Thread(target=self._in_thread, name="kopf", daemon=True).start()
        await self._done.wait()
        return self._problem

    def end(self) -> None:
        """Ask kopf to end."""
        self._stop_flag.set()

    async def wait(self, timeout_seconds: float) -> None:
        """Wait for its end, for at most so long."""
        await wait_until(self._done, timeout_seconds)

    def _in_thread(self) -> None:
        try:
            uvloop.run(self._operate())
        except Exception as error:  # noqa: BLE001 -- the boundary to kopf: whatever ended it, it is started again
            self._problem = f"{type(error).__name__}: {error}"
        finally:
            self._ours.call_soon_threadsafe(self._done.set)

    async def _operate(self) -> None:
        # Imported here, in its own thread: kopf and what it pulls in take longer than the first decision.
        import kopf

        from managedjobs.scheduler.handlers import make_registry, make_settings

        await kopf.operator(
            registry=make_registry(),
            settings=make_settings(),
            memo=kopf.Memo(feed=self._feed),
            standalone=True,
            clusterwide=not self._namespaces,
            namespaces=self._namespaces,
            stop_flag=self._stop_flag,
        )
