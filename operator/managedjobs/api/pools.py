"""A ControllerPool as it travels: its value, its status, the default one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from managedjobs.api.names import API_VERSION, CONTROLLER_POOL_KIND, DEFAULT_POOL
from managedjobs.api.parse import MalformedObjectError, as_fields
from managedjobs.api.quantity import MIB, MalformedQuantityError, render_milli, to_bytes, to_milli
from managedjobs.api.render import Json, merge_patch, render_condition
from managedjobs.api.wire import ConditionWire, Metadata, Wire
from managedjobs.core.model import Condition
from managedjobs.core.scheduling.pool import Capacity, PoolSpec, Toleration
from managedjobs.core.scheduling.pool_status import PoolStatus

Quantity = str | int | float


class TolerationWire(Wire, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityWire(Wire, frozen=True):
    cpu: Quantity
    memory: Quantity


class PoolSpecWire(Wire, frozen=True):
    node_selector: dict[str, str] | None = None
    tolerations: tuple[TolerationWire, ...] = ()
    launches_per_cpu: int | float = msgspec.field(name="launchesPerCPU", default=4)
    memory_per_job: Quantity = "350Mi"
    pods_reserved_per_node: int = 20
    max_launching: int | None = None
    max_running: int | None = None
    max_launching_per_namespace: int | None = None
    max_running_per_namespace: int | None = None
    capacity: CapacityWire | None = None
    paused: bool = False


class PoolStatusWire(Wire, frozen=True):
    conditions: tuple[ConditionWire, ...] = ()


class PoolWire(Wire, frozen=True):
    """What scheduling needs of a ControllerPool."""

    metadata: Metadata
    spec: PoolSpecWire = PoolSpecWire()
    status: PoolStatusWire = PoolStatusWire()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A ControllerPool as the API server showed it at `resource_version`."""

    name: str
    uid: str
    resource_version: str
    generation: int
    spec: PoolSpec
    conditions: tuple[Condition, ...] = ()


def pool_from_object(body: Mapping[str, object]) -> Pool:
    """The value of a ControllerPool given as a decoded JSON object. Raises MalformedObjectError."""
    try:
        return parse_pool(msgspec.convert(body, PoolWire))
    except msgspec.ValidationError as error:
        raise MalformedObjectError(str(error)) from error


def parse_pool(pool: PoolWire) -> Pool:
    """The value of a ControllerPool as it was decoded from the API server. Raises MalformedObjectError."""
    meta = pool.metadata
    return Pool(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        generation=meta.generation,
        spec=_parse_spec(pool.spec),
        conditions=tuple(as_fields(Condition, c) for c in pool.status.conditions),
    )


def spec_from_json(text: str) -> dict[str, Json]:
    """The spec of a pool given as JSON, checked. Raises MalformedObjectError with what is wrong."""
    try:
        spec: dict[str, Json] = msgspec.json.decode(text, type=dict)
        _parse_spec(msgspec.convert(spec, PoolSpecWire))
    except msgspec.DecodeError as error:
        raise MalformedObjectError(str(error)) from error
    return spec


def default_pool(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The manifest of the pool `default`."""
    return {
        "apiVersion": API_VERSION,
        "kind": CONTROLLER_POOL_KIND,
        "metadata": {"name": DEFAULT_POOL},
        "spec": dict(spec),
    }


def pool_status_patch(before: PoolStatus | None, new: PoolStatus) -> dict[str, Json] | None:
    """The merge patch for `/status` after `before` was written last (None: not known); None: nothing differs."""
    change = merge_patch(_render(before) if before else {}, _render(new))
    return {"status": change} if change else None


def _parse_spec(spec: PoolSpecWire) -> PoolSpec:
    try:
        capacity = spec.capacity
        return PoolSpec(
            node_selector=spec.node_selector or {},
            tolerations=tuple(
                Toleration(
                    key=t.key, operator=t.operator, value=t.value, effect=t.effect, seconds=t.toleration_seconds
                )
                for t in spec.tolerations
            ),
            launches_per_cpu=Fraction(str(spec.launches_per_cpu)),
            memory_per_job=max(1, to_bytes(spec.memory_per_job)),
            pods_reserved_per_node=spec.pods_reserved_per_node,
            max_launching=spec.max_launching,
            max_running=spec.max_running,
            max_launching_per_namespace=spec.max_launching_per_namespace,
            max_running_per_namespace=spec.max_running_per_namespace,
            capacity=Capacity(milli_cpu=to_milli(capacity.cpu), memory=to_bytes(capacity.memory))
            if capacity
            else None,
            paused=spec.paused,
        )
    except MalformedQuantityError as error:
        raise MalformedObjectError(str(error)) from error


def _render(status: PoolStatus) -> dict[str, Json]:
    return {
        "observedGeneration": status.observed_generation,
        "nodes": status.nodes,
        "cpu": render_milli(status.milli_cpu),
        "memory": f"{status.memory // MIB}Mi",
        "launchLimit": status.launch_limit,
        "runLimit": status.run_limit,
        "boundBy": status.bound_by,
        "launching": status.launching,
        "parked": status.parked,
        "alive": status.alive,
        "waiting": status.waiting,
        "backoff": status.backoff,
        "conditions": [render_condition(condition) for condition in status.conditions],
    }
