"""Tells users what happened, as Events; best effort, within a budget of its own, dropped first under load."""

import asyncio
import logging
import secrets
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime

from managedjobs.kube.bucket import TokenBucket
from managedjobs.kube.client import Client
from managedjobs.kube.errors import KubeError
from managedjobs.kube.event_rules import EventKind, Note, event_body, event_name, event_namespace, note, series_body
from managedjobs.kube.objects import ObjectRef
from managedjobs.kube.resources import EVENTS

logger = logging.getLogger(__name__)

_SAME_WITHIN_SECONDS = 60.0
_REMEMBERED = 1000  # notes that a repetition is recognised of
_SEND_SECONDS = 5.0  # per Event, its repetitions by the client included


@dataclass(slots=True)
class _Told:
    """One Event and how often it happened."""

    note: Note
    happened_at: datetime  # the last time
    happened_at_monotonic: float
    name: str
    count: int = 1
    created: bool = False  # the server has it, so the next write is a patch
    queued: bool = False


class EventRecorder:
    """`record` never blocks and never raises; `run` sends what was recorded.

    Repetitions within a minute become a count on the first Event. `component` is shown as From by `kubectl
    describe`. `sent`, `dropped` (the queue was full) and `failed` (the server refused) are counts for metrics.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        instance: str,
        *,
        per_second: float = 20.0,
        burst: int = 50,
        queue_length: int = 1000,
    ) -> None:
        self.sent = 0
        self.dropped = 0
        self.failed = 0
        self._client = client
        self._component = component
        self._instance = instance
        self._bucket = TokenBucket(per_second, burst, client.clock)
        self._queue: deque[_Told] = deque()
        self._queue_length = queue_length
        self._recent: OrderedDict[Note, _Told] = OrderedDict()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def record(self, regarding: ObjectRef, type: EventKind, reason: str, text: str, action: str) -> None:
        """Tell about `regarding`: `reason` is one CamelCase word, `text` a sentence, `action` what was done."""
        told = self._remember(note(regarding, type, reason, text, action))
        if told.queued:
            return  # it will be sent with its count
        told.queued = True
        if len(self._queue) >= self._queue_length:
            self._queue.popleft().queued = False
            self.dropped += 1
        self._queue.append(told)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            if not self._queue:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
            await self._bucket.take()
            told = self._queue.popleft()
            told.queued = False
            await self._send(told)

    async def flush(self, timeout_seconds: float) -> None:
        """Wait until all is sent, for at most `timeout_seconds`; `run` must be running."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._idle.wait()
        except TimeoutError:
            logger.info("events left behind", extra={"count": len(self._queue)})

    def _remember(self, said: Note) -> _Told:
        """The Event that `said` belongs to: a recent one of the same words, counted up, or a new one."""
        now = self._client.clock.monotonic()
        told = self._recent.get(said)
        if told is not None and now - told.happened_at_monotonic <= _SAME_WITHIN_SECONDS:
            told.count += 1
            told.happened_at = self._client.clock.now()
            told.happened_at_monotonic = now
        else:
            told = _Told(said, self._client.clock.now(), now, event_name(said.regarding, secrets.token_hex(8)))
            self._recent[said] = told
        self._recent.move_to_end(said)
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        return told

    async def _send(self, told: _Told) -> None:
        namespace = event_namespace(told.note.regarding)
        series = series_body(told.count, told.happened_at) if told.count > 1 else {}
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                if told.created:
                    await self._client.patch(EVENTS, namespace, told.name, series, dict)
                else:
                    body = event_body(told.note, told.name, told.happened_at, self._component, self._instance)
                    await self._client.create(EVENTS, namespace, body | series, dict)
        except (KubeError, TimeoutError) as error:
            self.failed += 1
            details = {"reason": told.note.reason, "error": str(error) or "no answer in time"}
            logger.info("event not sent", extra=details)
            return
        told.created = True
        self.sent += 1
