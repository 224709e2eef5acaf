"""The limits of a pool, above all the table that they have to come out as."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.scheduling.limits import node_counts, pool_limits
from managedjobs.core.scheduling.pool import MIB, Capacity, Node, PoolSpec, Taint, Toleration


def reported_memory(gibibytes: int) -> int:
    """The bytes that Linux reports on a machine sold with so many GiB.

    What is missing is what firmware and kernel keep: 342 MiB on any machine (kernel, crash kernel, firmware) and
    18.5 MiB for each GiB (page descriptors take 64 of every 4096 bytes, 16 MiB for each GiB; tables the rest).
    """
    return gibibytes * 1024 * MIB - 342 * MIB - gibibytes * 185 * MIB // 10


def machine(cpus: int, gibibytes: int, *, pods: int = 10_000) -> Node:
    return Node(name=f"{cpus}-{gibibytes}", milli_cpu=cpus * 1000, memory=reported_memory(gibibytes), pods=pods)


@pytest.mark.parametrize(
    ("cpus", "gibibytes", "launches", "runs"),
    [(2, 8, 8, 22), (2, 16, 8, 44), (8, 32, 32, 90)],
    ids=["2-8", "2-16", "8-32"],
)
def test_a_machine_gives_the_limits_of_the_table(cpus: int, gibibytes: int, launches: int, runs: int):
    limits = pool_limits(PoolSpec(), [machine(cpus, gibibytes)])
    assert (limits.launch, limits.run) == (launches, runs)


@pytest.mark.parametrize(
    ("cpus", "gibibytes", "launches", "about"),
    [(96, 672, 384, 1930), (128, 864, 512, 2480), (128, 1024, 512, 2950)],
    ids=["96-672", "128-864", "128-1024"],
)
def test_a_large_machine_gives_about_the_limits_of_the_table(cpus: int, gibibytes: int, launches: int, about: int):
    limits = pool_limits(PoolSpec(), [machine(cpus, gibibytes)])
    assert limits.launch == launches
    assert limits.run == pytest.approx(about, rel=0.005)


def test_the_budget_of_the_default_pool_is_that_of_the_smallest_machine_of_the_table():
    spec = PoolSpec(capacity=Capacity(milli_cpu=2000, memory=7700 * MIB))
    limits = pool_limits(spec, [machine(96, 672)])
    assert (limits.launch, limits.run, limits.milli_cpu) == (8, 22, 2000)


def test_a_budget_needs_no_nodes():
    limits = pool_limits(PoolSpec(capacity=Capacity(milli_cpu=1000, memory=700 * MIB)), [])
    assert (limits.launch, limits.run, limits.nodes, limits.why_none) == (4, 2, 0, "")


def test_a_controller_can_not_straddle_two_nodes():
    half_full = Node(name="n", milli_cpu=1000, memory=525 * MIB)
    assert pool_limits(PoolSpec(), [half_full, half_full]).run == 2


def test_the_pods_a_kubelet_takes_bound_the_run_limit_and_the_pool_says_so():
    limits = pool_limits(PoolSpec(), [machine(96, 672, pods=110)])
    assert (limits.run, limits.run_bound) == (90, "pods")


def test_a_maximum_bounds_and_the_pool_says_so():
    limits = pool_limits(PoolSpec(max_launching=3, max_running=5), [machine(8, 32)])
    assert (limits.launch, limits.launch_bound, limits.run, limits.run_bound) == (3, "maxLaunching", 5, "maxRunning")


def test_a_tiny_node_still_admits_one():
    limits = pool_limits(PoolSpec(launches_per_cpu=Fraction(1, 2)), [Node(name="n", milli_cpu=500, memory=1)])
    assert (limits.launch, limits.run) == (1, 1)


def test_without_nodes_there_are_no_slots_and_a_reason():
    assert pool_limits(PoolSpec(), []).why_none == "the cluster has no nodes"
    limits = pool_limits(PoolSpec(node_selector={"a": "b"}), [machine(2, 8)])
    assert (limits.launch, limits.run) == (0, 0)
    assert limits.why_none.startswith("none of 1 node is ready")


NODE = Node(name="n", labels={"role": "jobs"})
TAINT = Taint(key="dedicated", value="jobs", effect="NoSchedule")


@pytest.mark.parametrize(
    ("node", "spec", "counts"),
    [
        (NODE, PoolSpec(), True),
        (replace(NODE, ready=False), PoolSpec(), False),
        (replace(NODE, schedulable=False), PoolSpec(), False),
        (NODE, PoolSpec(node_selector={"role": "jobs"}), True),
        (NODE, PoolSpec(node_selector={"role": "gpu"}), False),
        (replace(NODE, taints=(TAINT,)), PoolSpec(), False),
        (replace(NODE, taints=(replace(TAINT, effect="PreferNoSchedule"),)), PoolSpec(), True),
        (replace(NODE, taints=(TAINT,)), PoolSpec(tolerations=(Toleration(key="dedicated", value="jobs"),)), True),
        (replace(NODE, taints=(TAINT,)), PoolSpec(tolerations=(Toleration(key="dedicated", value="x"),)), False),
        (replace(NODE, taints=(TAINT,)), PoolSpec(tolerations=(Toleration(operator="Exists"),)), True),
        (
            replace(NODE, taints=(TAINT,)),
            PoolSpec(tolerations=(Toleration(key="dedicated", operator="Exists", effect="NoExecute"),)),
            False,
        ),
    ],
    ids=[
        "plain", "not ready", "cordoned", "selected", "not selected", "tainted", "soft taint", "tolerated",
        "other value", "all tolerated", "other effect",
    ],
)  # fmt: skip
def test_which_nodes_count(node: Node, spec: PoolSpec, counts: bool):
    assert node_counts(spec, node) is counts


nodes = st.builds(
    Node,
    name=st.just("n"),
    ready=st.booleans(),
    milli_cpu=st.integers(0, 200_000),
    memory=st.integers(0, 2**42),
    pods=st.integers(0, 500),
)


@given(st.lists(nodes, max_size=6), st.integers(1, 2**32), st.integers(0, 200))
def test_both_limits_are_zero_together_with_a_reason_and_never_negative(some: list[Node], per_job: int, reserved: int):
    limits = pool_limits(PoolSpec(memory_per_job=per_job, pods_reserved_per_node=reserved), some)
    assert (limits.launch == 0) is (limits.run == 0) is bool(limits.why_none)
    assert min(limits.launch, limits.run) >= 0
    assert limits.nodes == sum(node.ready for node in some)


@given(st.lists(nodes, max_size=5), nodes)
def test_another_node_never_lowers_a_limit(some: list[Node], one_more: Node):
    before, after = pool_limits(PoolSpec(), some), pool_limits(PoolSpec(), [*some, one_more])
    assert after.launch >= before.launch
    assert after.run >= before.run
