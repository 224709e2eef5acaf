"""Carrying out what was decided, with answers that get lost and objects that change under our hands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from managedjobs.api.controller_manifest import ControllerSettings
from managedjobs.api.controller_pod import ControllerPodWire, parse_controller_pod
from managedjobs.api.names import CONTROLLER_SELECTOR, JOB_UID_LABEL
from managedjobs.api.parse import parse_job
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.model import Job, JobSpec
from managedjobs.core.scheduling.actions import (
    CreateControllerPod,
    DeleteControllerPod,
    DeleteJob,
    StopChildJob,
    Why,
    WriteStatus,
)
from managedjobs.core.scheduling.admission import claim
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.view import ChildState
from managedjobs.kube.client import Client
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.informer import Informer
from managedjobs.kube.resources import JOBS, MANAGED_JOBS, PODS
from managedjobs.kube.transport import Options
from managedjobs.scheduler.apply import Applier, LeadershipLostError, Outcome, RefusedPodError
from managedjobs.scheduler.store import Store
from tests.support.fake_api import FakeApi
from tests.support.jobs import NOW

RELEASE = "managedjobs-system"
QUICK = Options(request_timeout=2.0, retry_initial=0.001, retry_max=0.01)


class Bench:
    """An applier with its store, on a fake API server that has one ManagedJob."""

    def __init__(self, api: FakeApi, client: Client) -> None:
        self.api = api
        self.client = client
        self.store = Store()
        self.leads = True
        self.pods = Informer(
            client,
            PODS,
            ControllerPodWire,
            namespace=RELEASE,
            label_selector=CONTROLLER_SELECTOR,
            on_change=self._on_pod,
        )
        recorder = EventRecorder(client, "test", "test")
        self.applier = Applier(client, self.store, self.pods, recorder, ControllerSettings(namespace=RELEASE))
        self.applier.term = 1
        self.applier.leading = lambda: self.leads

    def _on_pod(self, old: ControllerPodWire | None, new: ControllerPodWire | None) -> None:
        before = parse_controller_pod(old) if old is not None else None
        after = parse_controller_pod(new) if new is not None else None
        self.store.change_pod(before, after, NOW)

    async def make_job(self, **status: Any) -> Job:  # noqa: ANN401 -- any status
        body = {"metadata": {"name": "train"}, "spec": {}, "status": status}
        job = parse_job(await self.client.create(MANAGED_JOBS, "team-a", body, ManagedJobWire))
        self.store.put_job(job, NOW)
        return job

    async def change_job(self, **spec: Any) -> Job:  # noqa: ANN401 -- any field of the spec
        wire = await self.client.patch(MANAGED_JOBS, "team-a", "train", {"spec": spec}, ManagedJobWire)
        return parse_job(wire)

    async def pod_objects(self) -> list[dict[str, Any]]:
        return (await self.client.list(PODS, RELEASE, dict)).items

    def the_pod(self) -> ControllerPod:
        [view] = [view for uid in self.store.all_uids() if (view := self.store.view(uid)) is not None]
        [pod] = view.pods
        return pod


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with FakeApi() as api, Client(api.credentials(), options=QUICK) as client:
        yield Bench(api, client)


def text(job: Job, said: str = "Waiting.") -> WriteStatus:
    return WriteStatus(job=job, status=replace(job.status, description=said), why=Why.TEXT)


async def test_a_claim_is_in_the_store_before_the_watch_brings_it(bench: Bench):
    job = await bench.make_job()
    assert await bench.applier.apply(claim(job)) is Outcome.DONE
    assert bench.the_pod().job_uid == job.uid
    assert bench.store.line("default").usage().launch == 1


@pytest.mark.parametrize("done", [True, False], ids=["the pod was made", "it was not"])
async def test_a_claim_whose_answer_is_lost_is_sent_again_and_makes_one_pod(bench: Bench, done: bool):
    job = await bench.make_job()
    bench.api.cut("POST", done=done)
    assert await bench.applier.apply(claim(job)) is Outcome.DONE
    assert len(await bench.pod_objects()) == 1
    assert bench.the_pod().job_uid == job.uid


async def test_a_pod_that_is_not_ours_under_the_needed_name_is_a_refusal(bench: Bench):
    job = await bench.make_job()
    await bench.applier.apply(claim(job))
    [made] = await bench.pod_objects()
    await bench.client.delete(PODS, RELEASE, made["metadata"]["name"])
    foreign = {"metadata": {"name": made["metadata"]["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}}
    await bench.client.create(PODS, RELEASE, foreign, dict)
    with pytest.raises(RefusedPodError, match="not ours"):
        await bench.applier.apply(claim(job))


async def test_a_refused_pod_tells_the_servers_reason(bench: Bench):
    job = await bench.make_job()
    bench.api.answer("POST", 403, "Forbidden")
    with pytest.raises(RefusedPodError, match="injected 403"):
        await bench.applier.apply(claim(job))
    assert await bench.pod_objects() == []


async def test_a_successor_is_not_made_for_a_job_that_changed(bench: Bench):
    job = await bench.make_job()
    changed = await bench.change_job(cancel=True)
    effect = CreateControllerPod(job=job, predecessor="p", is_claim=False, read_first=True)
    assert await bench.applier.apply(effect) is Outcome.CHANGED
    assert await bench.pod_objects() == []
    assert bench.store.jobs[job.uid] == changed


async def test_a_status_that_was_decided_on_an_older_object_is_refused_and_the_newer_one_read(bench: Bench):
    job = await bench.make_job()
    changed = await bench.change_job(priority=3)
    assert await bench.applier.apply(text(job)) is Outcome.CHANGED
    assert bench.store.jobs[job.uid] == changed
    assert sum(seen.method == "PATCH" for seen in bench.api.seen) == 2  # the test's own, and one try


async def test_a_status_whose_answer_is_lost_is_found_by_reading(bench: Bench):
    job = await bench.make_job()
    bench.api.cut("PATCH", done=True)
    assert await bench.applier.apply(text(job, "Told.")) is Outcome.CHANGED
    assert bench.store.jobs[job.uid].status.description == "Told."


async def test_a_status_of_a_job_that_is_gone_removes_it(bench: Bench):
    job = await bench.make_job()
    await bench.client.delete(MANAGED_JOBS, "team-a", "train")
    assert await bench.applier.apply(text(job)) is Outcome.CHANGED
    assert job.uid not in bench.store.jobs


async def test_the_pod_of_a_job_that_is_there_after_all_is_not_swept(bench: Bench):
    job = await bench.make_job()
    await bench.applier.apply(claim(job))
    sweep = DeleteControllerPod(pod=bench.the_pod(), key=job.key, expect_version="")
    assert await bench.applier.apply(sweep) is Outcome.CHANGED
    assert len(await bench.pod_objects()) == 1
    await bench.client.delete(MANAGED_JOBS, "team-a", "train")
    assert await bench.applier.apply(sweep) is Outcome.DONE
    assert await bench.pod_objects() == []


async def test_a_pod_is_deleted_by_its_uid(bench: Bench):
    job = await bench.make_job()
    await bench.applier.apply(claim(job))
    other = replace(bench.the_pod(), uid="another")
    assert await bench.applier.apply(DeleteControllerPod(pod=other, key=job.key)) is Outcome.CHANGED
    assert len(await bench.pod_objects()) == 1


async def test_who_does_not_lead_writes_nothing(bench: Bench):
    job = await bench.make_job()
    await bench.applier.apply(claim(job))
    before = len(bench.api.seen)
    bench.leads = False
    effects = (
        claim(job),
        text(job),
        DeleteJob(job=job),
        DeleteControllerPod(pod=bench.the_pod(), key=job.key),
        StopChildJob(job=job),
    )
    for effect in effects:
        with pytest.raises(LeadershipLostError):
            await bench.applier.apply(effect)
    assert len(bench.api.seen) == before


async def test_a_finished_job_is_deleted_only_as_it_was_seen(bench: Bench):
    job = await bench.make_job()
    changed = await bench.change_job(ttlSecondsAfterFinished=99)
    assert await bench.applier.apply(DeleteJob(job=job)) is Outcome.CHANGED
    assert await bench.applier.apply(DeleteJob(job=changed)) is Outcome.DONE
    assert bench.store.jobs == {}


def child(owner: str, *, suspend: bool = False, **status: Any) -> dict[str, Any]:  # noqa: ANN401 -- any field of the status
    return {
        "metadata": {"name": "train", "labels": {JOB_UID_LABEL: owner}},
        "spec": {"suspend": suspend},
        "status": status,
    }


@pytest.mark.parametrize(
    ("made", "state", "suspended"),
    [
        (None, ChildState.STOPPED, None),
        (lambda uid: child(uid, active=2), ChildState.STOPPING, True),
        (lambda uid: child(uid, suspend=True, active=1), ChildState.STOPPING, True),
        (lambda uid: child(uid, suspend=True, terminating=1), ChildState.STOPPING, True),
        (lambda uid: child(uid, suspend=True), ChildState.STOPPED, True),
        (lambda uid: child(uid, conditions=[{"type": "Complete", "status": "True"}]), ChildState.STOPPED, False),
        (lambda _uid: child("somebody else", active=2), ChildState.STOPPED, False),
    ],
    ids=["none", "running", "stopping", "terminating", "stopped", "finished", "not ours"],
)
async def test_the_child_job_is_suspended_and_then_waited_for(
    bench: Bench,
    made: Callable[[str], dict[str, Any]] | None,
    state: ChildState,
    suspended: bool | None,
):
    job = await bench.make_job()
    if made is not None:
        await bench.client.create(JOBS, "team-a", made(job.uid), dict)
    await bench.applier.apply(StopChildJob(job=job))
    view = bench.store.view(job.uid)
    assert view is not None
    assert view.child is state
    if suspended is not None:
        assert (await bench.client.get(JOBS, "team-a", "train", dict))["spec"]["suspend"] is suspended


def test_a_claim_needs_no_read_the_first_time():
    job = Job(namespace="a", name="b", uid="c", resource_version="1", created=NOW, spec=JobSpec())
    assert not claim(job).read_first
