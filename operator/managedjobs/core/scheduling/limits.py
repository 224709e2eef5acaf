"""How many jobs of a pool may launch at once, and how many may be alive at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from managedjobs.core.scheduling.pool import Node, PoolSpec
from managedjobs.core.text import plural

_HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The limits of a pool and what they come from; `milli_cpu` and `memory` (bytes) as they were counted."""

    launch: int
    run: int
    nodes: int
    milli_cpu: int
    memory: int
    launch_bound: str
    """What makes the launch limit what it is: `cpu`, `maxLaunching` or `no nodes`."""
    run_bound: str
    """What makes the run limit what it is: `memory`, `pods`, `maxRunning` or `no nodes`."""
    why_none: str = ""
    """A sentence that says why both limits are 0; "" when they are not."""


@dataclass(slots=True)
class _Tally:
    nodes: int = 0
    milli_cpu: int = 0
    memory: int = 0
    runs: int = 0
    runs_by_memory: int = 0


def pool_limits(spec: PoolSpec, nodes: Iterable[Node]) -> PoolLimits:
    """Launches = CPUs x launchesPerCPU; runs = for each node what fits in its memory and its pod count (DESIGN 3.4).

    With `spec.capacity` that budget counts instead of the nodes. Each limit is at least 1 while there is a node.
    """
    seen = 0
    tally = _Tally()
    for node in nodes:
        seen += 1
        if node_counts(spec, node):
            _add(tally, spec, node)
    if spec.capacity is not None:
        tally.milli_cpu = spec.capacity.milli_cpu
        tally.memory = spec.capacity.memory
        tally.runs = tally.runs_by_memory = spec.capacity.memory // spec.memory_per_job
    elif not tally.nodes:
        return _none(seen)
    return _limits(spec, tally)


def node_counts(spec: PoolSpec, node: Node) -> bool:
    """Whether controller pods of the pool can run on the node: ready, schedulable, selected, taints tolerated."""
    return node.ready and node.schedulable and selects(spec, node) and _is_tolerated(spec, node)


def selects(spec: PoolSpec, node: Node) -> bool:
    """Whether the pool's selector names the node."""
    return all(node.labels.get(key) == value for key, value in spec.node_selector.items())


def _is_tolerated(spec: PoolSpec, node: Node) -> bool:
    return all(
        any(toleration.covers(taint) for toleration in spec.tolerations)
        for taint in node.taints
        if taint.effect in _HARD_EFFECTS
    )


def _add(tally: _Tally, spec: PoolSpec, node: Node) -> None:
    by_memory = node.memory // spec.memory_per_job
    by_pods = max(0, node.pods - spec.pods_reserved_per_node)
    tally.nodes += 1
    tally.milli_cpu += node.milli_cpu
    tally.memory += node.memory
    tally.runs += min(by_memory, by_pods)
    tally.runs_by_memory += by_memory


def _limits(spec: PoolSpec, tally: _Tally) -> PoolLimits:
    launch, launch_bound = _bounded(
        int(tally.milli_cpu * spec.launches_per_cpu // 1000), "cpu", spec.max_launching, "maxLaunching"
    )
    by_what = "memory" if tally.runs == tally.runs_by_memory else "pods"
    run, run_bound = _bounded(tally.runs, by_what, spec.max_running, "maxRunning")
    return PoolLimits(
        launch=launch,
        run=run,
        nodes=tally.nodes,
        milli_cpu=tally.milli_cpu,
        memory=tally.memory,
        launch_bound=launch_bound,
        run_bound=run_bound,
    )


def _bounded(count: int, bound: str, maximum: int | None, maximum_name: str) -> tuple[int, str]:
    count = max(1, count)
    if maximum is not None and maximum < count:
        return maximum, maximum_name
    return count, bound


def _none(seen: int) -> PoolLimits:
    why = (
        "the cluster has no nodes"
        if not seen
        else f"none of {plural(seen, 'node')} is ready, schedulable, selected by the pool and free of taints it "
        "does not tolerate"
    )
    return PoolLimits(
        launch=0, run=0, nodes=0, milli_cpu=0, memory=0, launch_bound="no nodes", run_bound="no nodes", why_none=why
    )
