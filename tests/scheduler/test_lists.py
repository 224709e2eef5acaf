"""Lists find what no watch told of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.resources import CONTROLLER_POOLS, MANAGED_JOBS
from managedjobs.scheduler.feed import Feed
from managedjobs.scheduler.lists import Lists
from managedjobs.scheduler.store import Store
from tests.support.fake_api import FakeApi
from tests.support.waiting import until


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with FakeApi() as api, Client(api.credentials()) as ready:
        yield ready


async def make(client: Client, name: str, namespace: str = "team-a", **spec: Any) -> dict[str, Any]:  # noqa: ANN401 -- any field of the spec
    body = {"metadata": {"name": name}, "spec": spec}
    return await client.create(MANAGED_JOBS, namespace, body, dict)


def lists_of(client: Client, store: Store, *namespaces: str) -> Lists:
    feed = Feed(asyncio.get_running_loop(), lambda: None)
    return Lists(client, store, feed, namespaces)


async def test_a_list_brings_what_is_new_and_takes_what_is_gone(client: Client):
    store = Store()
    lists = lists_of(client, store)
    await client.create(CONTROLLER_POOLS, None, {"metadata": {"name": "default"}, "spec": {}}, dict)
    await make(client, "a")
    await make(client, "b", "team-b")
    assert await lists.all() == 2
    assert lists.filled.is_set()
    assert set(store.fleet.pools) == {"default"}
    await client.delete(MANAGED_JOBS, "team-a", "a")
    await client.delete(CONTROLLER_POOLS, None, "default")
    assert await lists.all() == 1
    assert [job.name for job in store.jobs.values()] == ["b"]
    assert not store.fleet.pools
    assert await lists.all() == 0


async def test_only_the_given_namespaces_are_listed(client: Client):
    store = Store()
    await make(client, "a")
    await make(client, "b", "team-b")
    await lists_of(client, store, "team-b").all()
    assert [job.name for job in store.jobs.values()] == ["b"]


async def test_a_job_that_can_not_be_read_is_not_gone(client: Client):
    store = Store()
    lists = lists_of(client, store)
    await make(client, "a")
    await lists.all()
    await client.patch(MANAGED_JOBS, "team-a", "a", {"spec": {"priority": "high"}}, dict)
    assert await lists.all() == 0
    assert [job.name for job in store.jobs.values()] == ["a"]


async def test_what_kopf_hears_in_its_thread_is_taken_in_order_and_wakes_once():
    woken: list[None] = []
    feed = Feed(asyncio.get_running_loop(), lambda: woken.append(None))

    def event(kind: str | None, version: int) -> dict[str, Any]:
        meta = {"name": "a", "namespace": "team-a", "uid": "u", "resourceVersion": str(version)}
        return {"type": kind, "object": {"metadata": meta, "spec": {}}}

    def hear() -> None:
        feed.job(event(None, 1))
        feed.job(event("MODIFIED", 2))
        feed.job({"type": "MODIFIED", "object": {"metadata": {"name": "bad"}, "spec": {"priority": "high"}}})
        feed.job(event("DELETED", 3))
        feed.pool({"type": "ADDED", "object": {"metadata": {"name": "default"}, "spec": {}}})

    await asyncio.to_thread(hear)
    await until(lambda: woken, "the loop is woken")
    taken = [(change.item.resource_version, change.deleted) for change in feed.take()]
    assert taken == [("1", False), ("2", False), ("3", True), ("", False)]
    assert len(woken) == 1
    assert feed.take() == []
