"""A Node as it travels, and its value."""

from __future__ import annotations

from datetime import datetime

import msgspec

from managedjobs.api.quantity import to_bytes, to_milli
from managedjobs.api.wire import Metadata, Wire
from managedjobs.core.scheduling.pool import Node, Taint

_DEFAULT_PODS = 110


class TaintWire(Wire, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpecWire(Wire, frozen=True):
    unschedulable: bool = False
    taints: tuple[TaintWire, ...] = ()


class NodeConditionWire(Wire, frozen=True):
    type: str
    status: str = "Unknown"
    last_transition_time: datetime | None = None


class NodeStatusWire(Wire, frozen=True):
    capacity: dict[str, str] | None = None
    allocatable: dict[str, str] | None = None
    conditions: tuple[NodeConditionWire, ...] = ()


class NodeWire(Wire, frozen=True):
    """What the limits of a pool need of a Node."""

    metadata: Metadata
    spec: NodeSpecWire = NodeSpecWire()
    status: NodeStatusWire = msgspec.field(default_factory=NodeStatusWire)


def parse_node(node: NodeWire) -> Node:
    """The value of a Node. Raises MalformedQuantityError."""
    ready = next((c for c in node.status.conditions if c.type == "Ready"), None)
    is_ready = ready is not None and ready.status == "True"
    capacity = node.status.capacity or {}
    allocatable = {**capacity, **(node.status.allocatable or {})}
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels or {},
        taints=tuple(Taint(key=t.key, value=t.value, effect=t.effect) for t in node.spec.taints),
        ready=is_ready,
        unready_since=None if is_ready or ready is None else ready.last_transition_time,
        schedulable=not node.spec.unschedulable,
        milli_cpu=to_milli(capacity.get("cpu", "0")),
        memory=to_bytes(allocatable.get("memory", "0")),
        pods=to_bytes(allocatable.get("pods", str(_DEFAULT_PODS))),
    )
