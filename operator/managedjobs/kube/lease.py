"""Leader election on a coordination.k8s.io/v1 Lease: acquire, renew, lose, let go."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from managedjobs.kube.backoff import wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from managedjobs.kube.lease_rules import Acquire, LeaseIdentity, LeaseView, Wait, decide
from managedjobs.kube.objects import ObjectMeta, micro_time
from managedjobs.kube.resources import LEASES

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """Seconds. A leader that can't renew stops after `renew_deadline`; others take over after `duration`."""

    duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        """Two leaders at once are possible unless each is shorter than the one before."""
        if not self.duration > self.renew_deadline > self.retry_period > 0:
            raise ValueError("a lease needs duration > renew deadline > retry period > 0")


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    renew_time: str | None = None


class _Lease(msgspec.Struct):
    metadata: ObjectMeta
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


def process_identity(pod: str) -> LeaseIdentity:
    """The identity of this process, which runs in `pod`; a restart of the process makes another."""
    return LeaseIdentity(pod, secrets.token_hex(4))


class Elector:
    """Takes part in one election, once: `run` ends when the leadership was lost or let go.

    `acquired` and `lost` are set when that happens. `term` is the Lease's leaseTransitions: above all that the
    Lease has seen, and that this process has seen in case it was deleted. Being leader is no guard by itself:
    writes are fenced by the API server.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: LeaseIdentity,
        *,
        timings: LeaseTimings | None = None,
    ) -> None:
        self.identity = identity
        self.acquired = asyncio.Event()
        self.lost = asyncio.Event()
        self.term: int | None = None
        self.last_error: str | None = None
        self._client = client
        self._namespace = namespace
        self._name = name
        self._timings = timings or LeaseTimings()
        self._lease: _Lease | None = None
        self._observed_at = client.clock.monotonic()
        self._renewed_at = 0.0  # when the last renewal that worked was *sent*
        self._last_term = 0
        self._stop = asyncio.Event()
        self._writing = asyncio.Lock()

    @property
    def leading(self) -> bool:
        """Whether we lead at this moment, by our own clock; false as soon as a renewal is overdue."""
        held = self.acquired.is_set() and not self.lost.is_set() and not self._stop.is_set()
        return held and self._seconds_left() > 0

    async def run(self) -> None:
        """Wait for the Lease, then keep it; returns after `lost` was set or `release` was called."""
        while not self._stop.is_set() and not await self._try("lease not acquired", self._acquire):
            await wait_until(self._stop, self._timings.retry_period)
        if self._stop.is_set():
            return
        self.acquired.set()
        logger.info("leader elected", extra={"identity": str(self.identity), "term": self.term})
        await self._keep()

    async def release(self) -> None:
        """Let the Lease go, so that another may take it at once; call it when all requests are drained."""
        self._stop.set()
        async with self._writing:
            if not self.acquired.is_set() or self.lost.is_set() or self._lease is None:
                return
            try:
                async with asyncio.timeout(self._timings.retry_period):
                    await self._patch(self._lease, {"holderIdentity": "", "renewTime": self._now()})
            except (KubeError, TimeoutError) as error:
                logger.warning("lease not released", extra={"error": str(error) or "timed out"})

    async def _keep(self) -> None:
        """Renew until a renewal is overdue or the Lease is seen in other hands."""
        while not await wait_until(self._stop, min(self._timings.retry_period, self._seconds_left())):
            await self._try("lease not renewed", self._renew)
            if self.lost.is_set():
                return
            if self._seconds_left() <= 0:
                self._lose(f"not renewed for {self._timings.renew_deadline:g} s: {self.last_error or 'too slow'}")
                return

    def _seconds_left(self) -> float:
        """How long we may still take ourselves for the leader."""
        return self._renewed_at + self._timings.renew_deadline - self._client.clock.monotonic()

    async def _try(self, what: str, step: Callable[[], Awaitable[bool]]) -> bool:
        """Do one step within the time that is left; false, with `last_error`, when it did not work."""
        left = self._seconds_left() if self.acquired.is_set() else self._timings.renew_deadline
        try:
            async with asyncio.timeout(max(left, 0.0)), self._writing:
                done = await step()
        except (KubeError, TimeoutError) as error:
            self.last_error = str(error) or "no answer in time"
            logger.warning(what, extra={"error": self.last_error})
            return False
        if done:
            self.last_error = None
        return done

    async def _acquire(self) -> bool:
        await self._read()
        sent_at = self._client.clock.monotonic()
        decision = decide(self._view(), self.identity, sent_at, self._observed_at, self._last_term)
        if isinstance(decision, Wait):
            return False
        # Renew here means: the answer to an earlier try was lost, but the write was not.
        spec = self._taken(decision.term) if isinstance(decision, Acquire) else {"renewTime": self._now()}
        try:
            if self._lease is None:
                body = {"metadata": {"name": self._name}, "spec": spec}
                lease = await self._client.create(LEASES, self._namespace, body, _Lease)
                self._observe(lease)
            else:
                lease = await self._patch(self._lease, spec)
        except (AlreadyExists, Conflict, NotFound):
            return False  # another was quicker
        self._renewed_at = sent_at
        self.term = lease.spec.lease_transitions
        return True

    def _taken(self, term: int) -> dict[str, Any]:
        return {
            "holderIdentity": str(self.identity),
            "leaseDurationSeconds": self._timings.duration,
            "leaseTransitions": term,
            "acquireTime": self._now(),
            "renewTime": self._now(),
        }

    async def _renew(self) -> bool:
        sent_at = self._client.clock.monotonic()
        assert self._lease is not None  # acquired
        try:
            await self._patch(self._lease, {"renewTime": self._now()})
        except NotFound:
            return self._lose("the lease was deleted")
        except Conflict:
            # Either another took it, or our own write whose answer was lost, or somebody labelled it.
            await self._read()
            if self._lease is None or not self._is_ours(self._lease):
                return self._lose("the lease is in other hands")
            await self._patch(self._lease, {"renewTime": self._now()})
        self._renewed_at = sent_at
        return True

    def _is_ours(self, lease: _Lease) -> bool:
        return lease.spec.holder_identity == str(self.identity) and lease.spec.lease_transitions == self.term

    async def _read(self) -> None:
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name, _Lease)
        except NotFound:
            self._lease = None
        else:
            self._observe(lease)

    async def _patch(self, lease: _Lease, spec: dict[str, Any]) -> _Lease:
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        written = await self._client.patch(LEASES, self._namespace, self._name, body, _Lease)
        self._observe(written)
        return written

    def _observe(self, lease: _Lease) -> None:
        if self._lease is None or self._lease.spec != lease.spec:
            self._observed_at = self._client.clock.monotonic()
        self._lease = lease
        self._last_term = max(self._last_term, lease.spec.lease_transitions or 0)

    def _view(self) -> LeaseView | None:
        if self._lease is None:
            return None
        spec = self._lease.spec
        duration = spec.lease_duration_seconds or self._timings.duration
        return LeaseView(spec.holder_identity or "", spec.lease_transitions or 0, duration)

    def _lose(self, why: str) -> bool:
        logger.warning("leadership lost", extra={"identity": str(self.identity), "term": self.term, "error": why})
        self.last_error = why
        self.lost.set()
        return False

    def _now(self) -> str:
        return micro_time(self._client.clock.now())
