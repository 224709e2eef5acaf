"""The client, the informer and the election against a real API server."""

import asyncio
import contextlib
import secrets
from pathlib import Path

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.credentials import load_credentials
from managedjobs.kube.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound, ServerError
from managedjobs.kube.informer import Informer
from managedjobs.kube.lease import Elector, LeaseTimings, process_identity
from managedjobs.kube.resources import JOBS, LEASES, MANAGED_JOBS, NAMESPACES
from managedjobs.kube.transport import Options
from tests.kube.shapes import CONFIG_MAPS, ConfigMap, config_map
from tests.support.waiting import until

pytestmark = pytest.mark.controlplane

POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "unknown": 1}]}


def job(name: str) -> dict[str, object]:
    """A batch/v1 Job with a misspelt field."""
    return {"metadata": {"name": name}, "spec": {"template": {"spec": POD}}}


async def test_an_object_is_made_read_changed_and_deleted(real: Client, namespace: str) -> None:
    made = await real.create(CONFIG_MAPS, namespace, config_map("x", k="1"), ConfigMap)
    assert (await real.get(CONFIG_MAPS, namespace, "x", ConfigMap)) == made
    body = {"metadata": {"resourceVersion": made.metadata.resource_version}, "data": {"k": "2"}}
    changed = await real.patch(CONFIG_MAPS, namespace, "x", body, ConfigMap)
    assert changed.data == {"k": "2"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await real.patch(CONFIG_MAPS, namespace, "x", body, ConfigMap)
    with pytest.raises(AlreadyExists):
        await real.create(CONFIG_MAPS, namespace, config_map("x"), ConfigMap)
    with pytest.raises(Conflict, match="precondition"):
        await real.delete(CONFIG_MAPS, namespace, "x", uid="another")
    assert await real.delete(CONFIG_MAPS, namespace, "x", uid=made.metadata.uid) is True
    assert await real.delete(CONFIG_MAPS, namespace, "x", uid=made.metadata.uid) is False
    with pytest.raises(NotFound):
        await real.get(CONFIG_MAPS, namespace, "x", ConfigMap)


async def test_a_dry_run_brings_refusals_and_warnings_and_leaves_nothing(real: Client, namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    await real.patch(NAMESPACES, None, namespace, {"metadata": {"labels": labels}}, dict)
    warnings: list[str] = []
    await real.create(JOBS, namespace, job("fine"), dict, dry_run=True, warnings=warnings)
    assert warnings[0] == 'unknown field "spec.template.spec.containers[0].unknown"'
    assert warnings[1].startswith('would violate PodSecurity "restricted:latest"')
    with pytest.raises(Invalid, match="a lowercase RFC 1123 subdomain"):
        await real.create(JOBS, namespace, job("Not_Fine"), dict, dry_run=True)
    assert (await real.list(JOBS, namespace, dict)).items == []


async def test_a_foreground_delete_keeps_the_name_until_the_pods_are_gone(real: Client, namespace: str) -> None:
    made = await real.create(JOBS, namespace, job("j"), dict)
    await real.delete(JOBS, namespace, "j", uid=made["metadata"]["uid"], propagation="Foreground")
    with contextlib.suppress(NotFound):
        kept = await real.get(JOBS, namespace, "j", dict)
        assert kept["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_pages_and_selectors_are_the_servers_own(real: Client, namespace: str) -> None:
    for number in range(5):
        await real.create(
            CONFIG_MAPS, namespace, {"metadata": {"name": f"n{number}", "labels": {"odd": str(number % 2)}}}, dict
        )
    odd = await real.list(CONFIG_MAPS, namespace, ConfigMap, label_selector="odd=1", limit=1)
    assert [item.metadata.name for item in odd.items] == ["n1", "n3"]
    one = await real.list(CONFIG_MAPS, namespace, ConfigMap, field_selector="metadata.name=n2")
    assert [item.metadata.name for item in one.items] == ["n2"]


async def test_a_watch_from_a_list_brings_each_change(real: Client, namespace: str) -> None:
    listing = await real.list(CONFIG_MAPS, namespace, ConfigMap)
    await real.create(CONFIG_MAPS, namespace, config_map("x"), ConfigMap)
    await real.patch(CONFIG_MAPS, namespace, "x", {"data": {"k": "2"}}, ConfigMap)
    await real.delete(CONFIG_MAPS, namespace, "x")
    told = []
    watch = real.watch(CONFIG_MAPS, namespace, ConfigMap, resource_version=listing.resource_version)
    async with contextlib.aclosing(watch), asyncio.timeout(10):
        async for event in watch:
            if event.object is not None and event.object.metadata.name == "x":
                told.append(event.type)
            if event.type == "DELETED":
                break
    assert told == ["ADDED", "MODIFIED", "DELETED"]


@pytest.mark.usefixtures("managed_jobs_served")
async def test_a_version_from_before_the_servers_memory_is_gone(real: Client, namespace: str) -> None:
    # The server remembers the changes of a resource from when it was defined, which was after version 1.
    watch = real.watch(MANAGED_JOBS, namespace, dict, resource_version="1")
    async with contextlib.aclosing(watch), asyncio.timeout(10):
        with pytest.raises(Gone, match="too old resource version"):
            await anext(watch)


async def test_a_version_from_the_future_is_a_server_error(control_plane: Path, namespace: str) -> None:
    credentials = load_credentials({"KUBECONFIG": str(control_plane)})
    async with Client(credentials, options=Options(attempts=1)) as client:
        with pytest.raises(ServerError, match="Too large resource version"):
            await client.list(CONFIG_MAPS, namespace, dict, resource_version="99999999999")


async def test_an_informer_agrees_with_the_server_after_a_storm(real: Client, namespace: str) -> None:
    informer = Informer(real, CONFIG_MAPS, ConfigMap, namespace=namespace)
    running = asyncio.create_task(informer.run())
    await informer.synced.wait()

    async def life(number: int) -> None:
        name = f"s{number}"
        await real.create(CONFIG_MAPS, namespace, config_map(name), ConfigMap)
        await real.patch(CONFIG_MAPS, namespace, name, {"data": {"k": "2"}}, ConfigMap)
        if number % 2:
            await real.delete(CONFIG_MAPS, namespace, name)

    await asyncio.gather(*(life(number) for number in range(100)))
    listing = await real.list(CONFIG_MAPS, namespace, ConfigMap)
    want = {(item.metadata.namespace, item.metadata.name): item for item in listing.items}
    await until(lambda: informer.objects == want, "the informer has what a list shows")
    running.cancel()


async def test_the_lead_changes_hands_on_a_real_lease(real: Client, namespace: str) -> None:
    timings = LeaseTimings(duration=15, renew_deadline=10.0, retry_period=0.1)
    first = Elector(real, namespace, "lead", process_identity("one"), timings=timings)
    second = Elector(real, namespace, "lead", process_identity("two"), timings=timings)
    tasks = [asyncio.create_task(first.run())]
    async with asyncio.timeout(20):
        await first.acquired.wait()
        tasks.append(asyncio.create_task(second.run()))
        before = await real.get(LEASES, namespace, "lead", dict)
        while (after := await real.get(LEASES, namespace, "lead", dict)) == before:
            pass
        assert after["spec"]["renewTime"] > before["spec"]["renewTime"]
        await first.release()
        await second.acquired.wait()
    assert (first.term, second.term) == (1, 2)
    assert not first.leading
    assert second.leading
    await second.release()
    released = await real.get(LEASES, namespace, "lead", dict)
    assert not released["spec"].get("holderIdentity")
    await asyncio.gather(*tasks)


async def test_the_tail_of_a_log_needs_a_pod(real: Client, namespace: str) -> None:
    with pytest.raises(NotFound, match=f'pods "no-{namespace}" not found'):
        await real.logs_tail(namespace, f"no-{namespace}", secrets.token_hex(2), 5)
