"""What a ControllerPool says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from managedjobs.core.conditions import set_condition
from managedjobs.core.model import Condition
from managedjobs.core.scheduling.admission import PoolFacts, Usage
from managedjobs.core.text import bounded

READY = "Ready"
CAPACITY_AVAILABLE = "CapacityAvailable"
OUR_CONDITIONS = frozenset({READY, CAPACITY_AVAILABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """`status` of a ControllerPool; memory in bytes."""

    observed_generation: int | None = None
    nodes: int = 0
    milli_cpu: int = 0
    memory: int = 0
    launch_limit: int = 0
    run_limit: int = 0
    bound_by: str = ""
    launching: int = 0
    parked: int = 0
    alive: int = 0
    waiting: int = 0
    backoff: int = 0
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How many jobs of a pool are in which state; `waiting` are all that want a slot."""

    alive: int = 0
    waiting: int = 0
    backoff: int = 0


def pool_status(
    facts: PoolFacts, usage: Usage, census: Census, before: tuple[Condition, ...], *, generation: int, now: datetime
) -> PoolStatus:
    """The status of a pool that exists; `before` are the conditions it has now, of which others' are kept."""
    limits = facts.limits
    if limits is None or facts.spec is None:
        raise ValueError(f"pool {facts.name} does not exist: it has no status")
    conditions = before
    for condition in (_ready(facts, generation, now), _capacity(facts, generation, now)):
        conditions = set_condition(conditions, condition)
    return PoolStatus(
        observed_generation=generation,
        nodes=limits.nodes,
        milli_cpu=limits.milli_cpu,
        memory=limits.memory,
        launch_limit=limits.launch,
        run_limit=limits.run,
        bound_by=f"launching: {limits.launch_bound}, running: {limits.run_bound}",
        launching=usage.launch,
        parked=usage.parked,
        alive=census.alive,
        waiting=census.waiting,
        backoff=census.backoff,
        conditions=conditions,
    )


def _ready(facts: PoolFacts, generation: int, now: datetime) -> Condition:
    limits = facts.limits
    if limits is not None and limits.launch == 0:
        status, reason, message = "False", "NoNodes", f"No slots: {limits.why_none}."
    elif facts.spec is not None and facts.spec.paused:
        status, reason, message = "False", "Paused", "The pool is paused: nothing new is admitted."
    else:
        status, reason, message = "True", "Ready", "The pool admits jobs."
    return _condition(READY, status, reason, message, generation, now)


def _capacity(facts: PoolFacts, generation: int, now: datetime) -> Condition:
    if facts.has_room:
        return _condition(CAPACITY_AVAILABLE, "True", "Scheduled", "Controller pods find a node.", generation, now)
    message = "A controller pod of the pool can't be scheduled; nothing new is admitted until it is."
    return _condition(CAPACITY_AVAILABLE, "False", "Unschedulable", message, generation, now)


def _condition(type_: str, status: str, reason: str, message: str, generation: int, now: datetime) -> Condition:
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=bounded(message, 1024),
        last_transition_time=now,
        observed_generation=generation,
    )
