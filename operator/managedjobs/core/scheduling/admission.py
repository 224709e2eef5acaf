"""Who gets the free slots of a pool, and why the others wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from managedjobs.core.attempts import begin_attempt, current_attempt
from managedjobs.core.conditions import settle
from managedjobs.core.model import Job
from managedjobs.core.note import Note
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.actions import CreateControllerPod, Why, WriteStatus
from managedjobs.core.scheduling.limits import PoolLimits
from managedjobs.core.scheduling.order import OrderKey
from managedjobs.core.scheduling.pool import PoolSpec
from managedjobs.core.scheduling.usage import Want


class Candidate(NamedTuple):
    """A job that wants a slot; candidates compare by their place in the one order."""

    order: OrderKey
    uid: str
    namespace: str
    want: Want


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFacts:
    """What admission needs to know of a pool."""

    name: str
    spec: PoolSpec | None
    """None: no such ControllerPool."""
    limits: PoolLimits | None
    has_room: bool = True
    """False while a controller pod of the pool can't be scheduled."""
    refusal: str = ""
    """Why the API server lately refused a controller pod of the pool; "" when it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The slots of a pool in use, in all and by namespace."""

    launch: int = 0
    run: int = 0
    parked: int = 0
    launch_by_namespace: Mapping[str, int] = field(default_factory=dict)
    run_by_namespace: Mapping[str, int] = field(default_factory=dict)


class _Free:
    """The free slots, while they are handed out."""

    def __init__(self, facts: PoolFacts, usage: Usage) -> None:
        limits, spec = facts.limits, facts.spec
        self.launch = limits.launch - usage.launch if limits else 0
        self.run = limits.run - usage.run if limits else 0
        self._launch_cap = spec.max_launching_per_namespace if spec else None
        self._run_cap = spec.max_running_per_namespace if spec else None
        self._launching = dict(usage.launch_by_namespace) if self._launch_cap else {}
        self._running = dict(usage.run_by_namespace) if self._run_cap else {}

    def at_cap(self, namespace: str, want: Want) -> bool:
        """Whether the namespace has as many as the pool allows it."""
        if self._launch_cap is not None and self._launching.get(namespace, 0) >= self._launch_cap:
            return True
        capped = want is Want.CLAIM and self._run_cap is not None
        return capped and self._running.get(namespace, 0) >= (self._run_cap or 0)

    def take(self, candidate: Candidate) -> None:
        """Hand the candidate what it wants."""
        namespace = candidate.namespace
        self.launch -= 1
        self._launching[namespace] = self._launching.get(namespace, 0) + 1
        if candidate.want is Want.CLAIM:
            self.run -= 1
            self._running[namespace] = self._running.get(namespace, 0) + 1


def admit(facts: PoolFacts, usage: Usage, new: Iterable[Candidate], live: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that get their slots now; both inputs in order, each of one want (DESIGN 5.1, 5.2).

    A new job needs both slots, a live one a launch slot; one that can't have its slot blocks nobody else. No more of
    the inputs is read than needed.
    """
    free = _Free(facts, usage)
    if free.launch <= 0:
        return []
    admitted: list[Candidate] = []
    for candidate in _merged(new if claims_open(facts) else (), live, free):
        if free.at_cap(candidate.namespace, candidate.want):
            continue
        free.take(candidate)
        admitted.append(candidate)
        if free.launch <= 0:
            break
    return admitted


def claims_open(facts: PoolFacts) -> bool:
    """Whether the pool admits new jobs at all."""
    exists = facts.spec is not None and facts.limits is not None and not facts.spec.paused
    return exists and facts.has_room and not facts.refusal


def _merged(new: Iterable[Candidate], live: Iterable[Candidate], free: _Free) -> Iterator[Candidate]:
    """Both inputs in one order; new jobs only while a run slot is free."""
    new_left, live_left = iter(new), iter(live)
    first_new = next(new_left, None)
    first_live = next(live_left, None)
    while True:
        if free.run <= 0:
            first_new = None
        if first_new is not None and (first_live is None or first_new.order < first_live.order):
            yield first_new
            first_new = next(new_left, None)
        elif first_live is not None:
            yield first_live
            first_live = next(live_left, None)
        else:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Why a job waits: a reason, and the part of a sentence that explains it."""

    reason: Reason
    text: str


def hold(facts: PoolFacts, usage: Usage, namespace: str, want: Want) -> Hold:
    """Why a job of that namespace can't have what it wants now."""
    if facts.spec is None or facts.limits is None:
        text = f"the ControllerPool {facts.name} does not exist; create it, or make the job anew in another pool"
        return Hold(reason=Reason.POOL_NOT_FOUND, text=text)
    if want is Want.CLAIM and facts.spec.paused:
        return Hold(reason=Reason.POOL_PAUSED, text="the pool is paused")
    limits = facts.limits
    if limits.launch == 0 or limits.run == 0:
        return Hold(reason=Reason.POOL_WITHOUT_NODES, text=f"the pool has no nodes: {limits.why_none}")
    if want is Want.CLAIM and facts.refusal:
        text = f"a controller pod can't be created: {facts.refusal}"
        return Hold(reason=Reason.CAPACITY_UNAVAILABLE, text=text)
    if want is Want.CLAIM and not facts.has_room:
        text = "admission pauses, because a controller pod of the pool can't be scheduled"
        return Hold(reason=Reason.CAPACITY_UNAVAILABLE, text=text)
    return _slots_hold(facts, limits, usage, namespace, want)


def _slots_hold(facts: PoolFacts, limits: PoolLimits, usage: Usage, namespace: str, want: Want) -> Hold:
    if want is Want.CLAIM and usage.run >= limits.run:
        parked = f" ({usage.parked} parked)" if usage.parked else ""
        return Hold(reason=Reason.WAITING_FOR_RUN_SLOT, text=f"{_all(limits.run, 'run slot')} in use{parked}")
    if usage.launch < limits.launch and _Free(facts, usage).at_cap(namespace, want):
        text = f"namespace {namespace} has as many slots as the pool allows one namespace"
        return Hold(reason=Reason.NAMESPACE_AT_CAP, text=text)
    return Hold(reason=Reason.WAITING_FOR_LAUNCH_SLOT, text=f"{_all(limits.launch, 'launch slot')} in use")


def _all(count: int, noun: str) -> str:
    return f"the only {noun} is" if count == 1 else f"all {count} {noun}s are"


def claim(job: Job) -> CreateControllerPod:
    """The creation of the job's controller pod: it gives the job both slots at once."""
    fence = job.status.fence
    return CreateControllerPod(job=job, predecessor=fence, is_claim=True, read_first=bool(fence))


def grant(job: Job, term: int, now: datetime) -> WriteStatus:
    """The write that gives a live job its launch slot; it opens the next attempt."""
    before = job.status
    begun = begin_attempt(before, job_name=job.name, replicas=job.spec.replicas, now=now)
    number = current_attempt(begun).number
    status = replace(
        begun,
        phase=Phase.RECOVERING,
        reason=Reason.LAUNCHING.value,
        description=f"Launching attempt {number}: it has its launch slot.",
        schedule=replace(
            before.schedule, state=ScheduleState.LAUNCHING, position=None, next_retry_time=None, leader_term=term
        ),
    )
    note = Note(reason=Reason.LAUNCHING.value, text=f"Attempt {number} has its launch slot.")
    settled = settle(before, status, generation=job.generation, now=now)
    return WriteStatus(job=job, status=settled, why=Why.GRANT, note=note)
