"""Nodes and pools as the API server sends them."""

from datetime import UTC, datetime
from fractions import Fraction

import msgspec
import pytest

from managedjobs.api.nodes import NodeWire, parse_node
from managedjobs.api.parse import MalformedObjectError
from managedjobs.api.pools import default_pool, pool_from_object, pool_status_patch, spec_from_json
from managedjobs.core.scheduling.limits import pool_limits
from managedjobs.core.scheduling.pool import MIB, Capacity, Taint, Toleration
from managedjobs.core.scheduling.pool_status import PoolStatus

NODE = {
    "metadata": {"name": "n1", "labels": {"kubernetes.io/os": "linux"}, "uid": "u", "resourceVersion": "5"},
    "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"cpu": "2", "memory": "7934464Ki", "pods": "110", "ephemeral-storage": "80Gi"},
        "allocatable": {"cpu": "1930m", "memory": "7244288Ki", "pods": "29"},
        "conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"},
        ],
        "images": [{"names": ["x"], "sizeBytes": 1}],
    },
}


def node(**changes: object) -> NodeWire:
    return msgspec.convert({**NODE, **changes}, NodeWire)


def test_the_launch_limit_counts_capacity_and_the_run_limit_what_pods_may_have():
    parsed = parse_node(node())
    assert (parsed.milli_cpu, parsed.memory, parsed.pods) == (2000, 7244288 * 1024, 29)
    assert parsed.taints == (Taint(key="gpu", effect="NoSchedule"),)
    assert (parsed.ready, parsed.unready_since, parsed.schedulable) == (True, None, True)


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_that_is_not_ready_says_since_when(status: str):
    ready = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T03:04:05Z"}
    parsed = parse_node(node(status={"conditions": [ready]}))
    assert (parsed.ready, parsed.unready_since) == (False, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def test_a_node_that_never_said_anything_does_not_count():
    parsed = parse_node(node(status={}, spec={"unschedulable": True}))
    assert (parsed.ready, parsed.schedulable, parsed.milli_cpu, parsed.memory) == (False, False, 0, 0)


def test_a_pool_is_read_with_its_defaults():
    pool = pool_from_object({"metadata": {"name": "default", "uid": "u", "generation": 3}, "spec": {}})
    assert (pool.name, pool.generation) == ("default", 3)
    assert (pool.spec.launches_per_cpu, pool.spec.memory_per_job, pool.spec.capacity) == (4, 350 * MIB, None)


def test_a_pool_is_read_with_all_its_fields():
    spec = {
        "nodeSelector": {"role": "jobs"},
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "launchesPerCPU": 0.5,
        "memoryPerJob": 367001600,
        "capacity": {"cpu": "1500m", "memory": "7700Mi"},
        "maxLaunchingPerNamespace": 3,
        "paused": True,
    }
    pool = pool_from_object({"metadata": {"name": "p"}, "spec": spec}).spec
    assert pool.node_selector == {"role": "jobs"}
    assert pool.tolerations == (Toleration(key="a", operator="Exists", effect="NoExecute", seconds=5),)
    assert pool.launches_per_cpu == Fraction(1, 2)
    assert pool.memory_per_job == 350 * MIB
    assert pool.capacity == Capacity(milli_cpu=1500, memory=7700 * MIB)
    assert (pool.max_launching_per_namespace, pool.paused) == (3, True)


def test_the_default_pool_comes_from_json():
    spec = spec_from_json('{"capacity": {"cpu": 2, "memory": "7700Mi"}}')
    limits = pool_limits(pool_from_object(default_pool(spec)).spec, [])
    assert (limits.launch, limits.run) == (8, 22)


@pytest.mark.parametrize("text", ["", "[]", '{"paused": "yes"}', '{"memoryPerJob": "many"}'])
def test_a_default_pool_that_is_no_pool_is_refused(text: str):
    with pytest.raises(MalformedObjectError):
        spec_from_json(text)


def test_the_status_of_a_pool_is_written_as_the_schema_has_it_and_only_where_it_changed():
    status = PoolStatus(nodes=2, milli_cpu=3500, memory=7934464 * 1024, launch_limit=14, bound_by="cpu")
    first = pool_status_patch(None, status)
    assert first is not None
    assert first["status"]["cpu"] == "3500m"
    assert first["status"]["memory"] == "7748Mi"
    assert pool_status_patch(status, status) is None
    changed = pool_status_patch(status, PoolStatus(nodes=2, milli_cpu=3500, memory=7934464 * 1024, bound_by="cpu"))
    assert changed == {"status": {"launchLimit": 0}}
