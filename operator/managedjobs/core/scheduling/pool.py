"""The values that a pool's limits are reckoned from: its spec and the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A taint that controller pods of a pool tolerate; an empty key with `Exists` tolerates all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def covers(self, taint: Taint) -> bool:
        """Whether a pod with this toleration may be on a node with `taint`, by the scheduler's own rules."""
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.operator == "Exists"
        if self.key != taint.key:
            return False
        match self.operator:
            case "Exists":
                return True
            case "Gt":
                return _is_greater(taint.value, self.value)
            case "Lt":
                return _is_greater(self.value, taint.value)
            case _:
                return self.value == taint.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What matters of a node. `milli_cpu` is its capacity, `memory` (bytes) and `pods` what it lets pods have."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unready_since: datetime | None = None
    """Since when the node is not ready; None while it is."""
    schedulable: bool = True
    milli_cpu: int = 0
    memory: int = 0
    pods: int = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """An explicit budget of a pool, instead of its nodes'; memory in bytes."""

    milli_cpu: int
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """`spec` of a ControllerPool; memory in bytes."""

    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    launches_per_cpu: Fraction = Fraction(4)
    memory_per_job: int = 350 * MIB
    pods_reserved_per_node: int = 20
    max_launching: int | None = None
    max_running: int | None = None
    max_launching_per_namespace: int | None = None
    max_running_per_namespace: int | None = None
    capacity: Capacity | None = None
    paused: bool = False


def _is_greater(left: str, right: str) -> bool:
    try:
        return int(left) > int(right)
    except ValueError:
        return False
