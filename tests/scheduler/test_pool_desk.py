"""What is known of pools beyond their objects, and their limits as nodes come and go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.api.pools import Pool, PoolWire
from managedjobs.core.scheduling.pool import MIB, Node, PoolSpec
from managedjobs.core.scheduling.pool_status import PoolStatus
from managedjobs.kube.client import Client
from managedjobs.kube.resources import CONTROLLER_POOLS
from managedjobs.scheduler.pool_desk import STATUS_EVERY, STUCK_AFTER, PoolDesk
from managedjobs.scheduler.store import Store
from tests.support.fake_api import FakeApi
from tests.support.jobs import NOW, make_job, make_pod

POOL = Pool(name="default", uid="u", resource_version="5", generation=1, spec=PoolSpec())
NODE = Node(name="n1", milli_cpu=2000, memory=700 * MIB)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def store_with(*nodes: Node, pool: Pool = POOL) -> Store:
    store = Store()
    store.fleet.put_pool(pool)
    for node in nodes:
        store.fleet.change_node(None, node)
    return store


def test_limits_follow_the_nodes():
    store = store_with(NODE)
    limits = store.fleet.limits("default")
    assert limits is not None
    assert (limits.launch, limits.run) == (8, 2)
    store.fleet.changed.clear()
    assert store.fleet.change_node(NODE, replace(NODE, ready=False, unready_since=NOW))
    lost = store.fleet.limits("default")
    assert lost is not None
    assert (lost.launch, lost.run) == (0, 0)
    assert store.fleet.changed == {"default"}
    assert store.fleet.unready_since == {"n1": NOW}


def test_a_node_that_only_says_it_is_alive_changes_nothing():
    store = store_with(NODE)
    store.fleet.changed.clear()
    assert not store.fleet.change_node(NODE, NODE)
    assert not store.fleet.changed


def test_an_older_version_of_a_pool_is_ignored_and_a_newer_one_counts():
    store = store_with(NODE)
    store.fleet.put_pool(replace(POOL, resource_version="4", spec=PoolSpec(max_running=1)))
    limits = store.fleet.limits("default")
    assert limits is not None
    assert limits.run == 2
    store.fleet.put_pool(replace(POOL, resource_version="10", spec=PoolSpec(max_running=1)))
    limits = store.fleet.limits("default")
    assert limits is not None
    assert limits.run == 1


def test_a_pool_that_a_list_does_not_have_is_gone_unless_it_is_newer():
    store = store_with(NODE)
    store.fleet.listed_pools([], "4")
    assert "default" in store.fleet.pools
    store.fleet.listed_pools([], "5")
    assert store.fleet.limits("default") is None


def test_a_pod_that_finds_no_node_for_a_while_closes_the_pool_until_one_fits():
    store = store_with(NODE)
    store.put_job(make_job(), NOW)
    stuck = make_pod(age=0, unschedulable="no node", node_name=None, scheduled=False)
    store.change_pod(None, stuck, NOW)
    desk, line = PoolDesk(store), store.line("default")
    assert desk.facts("default", line, at(4)).has_room
    assert desk.next_look("default", line, at(4)) == NOW + STUCK_AFTER
    assert not desk.facts("default", line, at(5)).has_room
    store.change_pod(stuck, replace(stuck, unschedulable=None, node_name="n1", scheduled=True), at(6))
    assert desk.facts("default", line, at(6)).has_room


def test_a_refusal_closes_the_pool_for_a_while_and_is_news_once():
    desk = PoolDesk(store_with(NODE))
    assert desk.refuse("default", "exceeded quota", NOW)
    assert not desk.refuse("default", "exceeded quota", at(1))
    assert desk.facts("default", None, at(1)).refusal == "exceeded quota"
    later = desk.next_look("default", None, at(1))
    assert later is not None
    assert desk.facts("default", None, later).refusal == ""
    desk.accept("default")
    assert desk.next_look("default", None, at(1)) is None


async def test_a_status_is_written_when_it_changed_and_at_most_once_a_second():
    async with FakeApi() as api, Client(api.credentials()) as client:
        await client.create(CONTROLLER_POOLS, None, {"metadata": {"name": "default"}}, PoolWire)
        store = store_with(NODE)
        desk = PoolDesk(store)
        written_at = client.clock.now()
        first = desk.status_due("default", None, written_at)
        assert isinstance(first, tuple)
        await desk.write_status(client, *first)
        assert desk.status_due("default", None, client.clock.now() + STATUS_EVERY) is None
        store.put_job(make_job(), NOW)
        soon = desk.status_due("default", store.line("default"), written_at)
        assert isinstance(soon, datetime)
        assert soon > written_at
        second = desk.status_due("default", store.line("default"), soon + STATUS_EVERY)
        assert isinstance(second, tuple)
        assert isinstance(second[1], PoolStatus)
        assert second[1].waiting == 1
        await desk.write_status(client, *second)
        patches = [seen.body["status"] for seen in api.seen if seen.method == "PATCH"]
        assert len(patches) == 2
        assert patches[1] == {"waiting": 1}
