"""The operator as a real process on a real control plane, with fake controllers."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from managedjobs.core.model import Job
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.kube.backoff import pause
from managedjobs.kube.resources import CONTROLLER_POOLS, PODS
from tests.scheduler.conftest import Site
from tests.scheduler.fake_controllers import FakeControllers, never_start, run_to_the_end, stay_alive
from tests.support.waiting import until

pytestmark = pytest.mark.controlplane


def is_in(*states: ScheduleState):
    return lambda job: job.status.state in states


def most_at_once(history: list[Job], states: set[ScheduleState]) -> int:
    """The largest number of jobs that were in one of the states at the same time."""
    now: dict[str, ScheduleState] = {}
    most = 0
    for job in history:
        now[job.name] = job.status.state
        most = max(most, sum(state in states for state in now.values()))
    return most


async def test_many_jobs_run_to_their_end_and_never_more_at_once_than_the_limits(site: Site):
    pool = await site.make_pool("small", maxLaunching=2, maxRunning=4)
    count = 24
    with site.operator() as operator:
        async with FakeControllers(site.client, site.namespace, run_to_the_end) as controllers:
            await asyncio.gather(*(site.make_job(f"j{n}", controllerPoolName=pool) for n in range(count)))
            for n in range(count):
                await site.job_is(f"j{n}", "succeeds", lambda job: job.status.phase is Phase.SUCCEEDED, 60)
            await until(lambda: not controllers.pods, "all controller pods are swept", 40)
        live = {state for state in ScheduleState if state.is_live}
        assert most_at_once(site.history, {ScheduleState.LAUNCHING}) <= 2
        assert most_at_once(site.history, live) <= 4
        assert Counter(pod.job.name for pod in controllers.seen) == {f"j{n}": 1 for n in range(count)}
        assert (await operator.ask("/readyz"))[0] == 200
        assert (
            'managedjobs_controller_pods_created_total{kind="claim"} 24.0'
            in (await operator.ask("/metrics", "metrics"))[1]
        )
        assert operator.stop() == 0


async def test_a_killed_operator_is_followed_by_one_that_goes_on_where_it_was(site: Site):
    pool = await site.make_pool("small", maxLaunching=2, maxRunning=3)
    count = 12
    async with FakeControllers(site.client, site.namespace, run_to_the_end) as controllers:
        await asyncio.gather(*(site.make_job(f"j{n}", controllerPoolName=pool) for n in range(count)))
        for kills in (1, 4):
            with site.operator() as operator:
                await until(lambda least=kills: len(controllers.seen) >= least, "claims are made", 40)
                operator.kill()
        with site.operator() as operator:
            for n in range(count):
                await site.job_is(f"j{n}", "succeeds", lambda job: job.status.phase is Phase.SUCCEEDED, 60)
            assert operator.stop() == 0
    assert most_at_once(site.history, {ScheduleState.LAUNCHING}) <= 2
    assert Counter(pod.job.name for pod in controllers.seen) == {f"j{n}": 1 for n in range(count)}


async def test_one_operator_does_all_that_is_asked_of_waiting_and_live_jobs(site: Site):
    """One process for many short stories: each has a pool of its own."""
    with site.operator():
        async with FakeControllers(site.client, site.namespace, stay_alive) as controllers:
            await asyncio.gather(
                waiting_jobs_say_their_place_and_can_be_cancelled(site, controllers),
                a_job_of_an_unknown_pool_waits_until_it_exists(site),
                a_lost_controller_is_replaced_and_a_recovery_gets_its_launch_slot(site, controllers),
                a_job_can_be_suspended_and_resumed_while_it_waits(site, controllers),
                a_claim_that_is_deleted_is_made_again_with_another_name(site, controllers),
                a_finished_job_goes_when_its_time_is_over(site, controllers),
                a_pool_whose_controller_pods_find_no_node_admits_nothing_more(site, controllers),
            )


async def waiting_jobs_say_their_place_and_can_be_cancelled(site: Site, controllers: FakeControllers) -> None:
    pool = await site.make_pool("one", maxRunning=1)
    await site.make_job("w-first", controllerPoolName=pool)
    await site.job_is("w-first", "is up", is_in(ScheduleState.ALIVE))
    for name, priority in (("w-low", 0), ("w-high", 5)):
        await site.make_job(name, controllerPoolName=pool, priority=priority)
    await site.job_is("w-high", "is first in line", lambda job: job.status.schedule.position == 1)
    low = await site.job_is("w-low", "is second in line", lambda job: job.status.schedule.position == 2)
    assert low.status.reason == "WaitingForRunSlot"
    assert low.status.description == (
        f"Waiting: 2nd of 2 in pool {pool}; the only run slot is in use, 1 job of higher priority is ahead."
    )
    await site.change_job("w-high", cancel=True)
    high = await site.job_is("w-high", "is cancelled", lambda job: job.status.phase is Phase.CANCELLED)
    assert high.status.state is ScheduleState.DONE
    assert all(pod.job.name != "w-high" for pod in controllers.seen)


async def a_job_of_an_unknown_pool_waits_until_it_exists(site: Site) -> None:
    name = f"later-{site.namespace}"
    await site.make_job("u", controllerPoolName=name)
    job = await site.job_is("u", "says that its pool is missing", lambda job: job.status.reason == "PoolNotFound")
    assert name in job.status.description
    await site.make_pool("later")
    await site.job_is("u", "is up", is_in(ScheduleState.ALIVE))


async def a_lost_controller_is_replaced_and_a_recovery_gets_its_launch_slot(
    site: Site, controllers: FakeControllers
) -> None:
    pool = await site.make_pool("r")
    await site.make_job("r", controllerPoolName=pool)
    await site.job_is("r", "is up", is_in(ScheduleState.ALIVE))
    first = next(pod for pod in controllers.pods if pod.job.name == "r")
    await site.client.delete(PODS, site.namespace, first.name, uid=first.uid)
    job = await site.job_is("r", "has another controller", lambda job: job.status.fence != first.uid)
    second = next(pod for pod in controllers.pods if pod.uid == job.status.fence)
    assert second.predecessor == first.uid
    assert job.status.state is ScheduleState.ALIVE
    await controllers.move(second, ScheduleState.ALIVE_WAITING, Phase.RECOVERING)
    job = await site.job_is("r", "has its launch slot", is_in(ScheduleState.LAUNCHING))
    assert job.status.current_attempt is not None
    assert (job.status.current_attempt.number, job.status.attempt_count, job.status.recovery_count) == (2, 2, 1)
    assert job.status.schedule.leader_term is not None


async def a_job_can_be_suspended_and_resumed_while_it_waits(site: Site, controllers: FakeControllers) -> None:
    pool = await site.make_pool("paused", paused=True)
    await site.make_job("s", controllerPoolName=pool)
    await site.job_is("s", "says that its pool is paused", lambda job: job.status.reason == "PoolPaused")
    await site.change_job("s", suspend=True)
    await site.job_is("s", "is suspended", is_in(ScheduleState.SUSPENDED))
    await site.client.patch(CONTROLLER_POOLS, None, pool, {"spec": {"paused": False}}, dict)
    await pause(0.3)
    assert all(pod.job.name != "s" for pod in controllers.seen)
    await site.change_job("s", suspend=False)
    await site.job_is("s", "is up", is_in(ScheduleState.ALIVE))


async def a_claim_that_is_deleted_is_made_again_with_another_name(site: Site, controllers: FakeControllers) -> None:
    async def start_the_second_time(stage: FakeControllers, pod: ControllerPod) -> None:
        await (stay_alive if pod.predecessor else never_start)(stage, pod)

    controllers.parts["c"] = start_the_second_time
    pool = await site.make_pool("c")
    await site.make_job("c", controllerPoolName=pool)

    def claims() -> list[ControllerPod]:
        return [pod for pod in controllers.seen if pod.job.name == "c"]

    await until(claims, "c is claimed", 30)
    first = claims()[0]
    await site.client.delete(PODS, site.namespace, first.name, uid=first.uid, grace_seconds=0)
    job = await site.job_is("c", "is up", is_in(ScheduleState.ALIVE))
    second = claims()[1]
    assert (second.predecessor, job.status.fence) == (f"revoked:{first.uid}", second.uid)
    assert first.name != second.name


async def a_finished_job_goes_when_its_time_is_over(site: Site, controllers: FakeControllers) -> None:
    controllers.parts["t"] = run_to_the_end
    pool = await site.make_pool("t")
    await site.make_job("t", controllerPoolName=pool, ttlSecondsAfterFinished=1)
    await site.job_is("t", "exists", lambda _: True)
    await until(lambda: "t" not in site.jobs, "t is deleted", 40)
    assert [job.status.phase for job in site.history if job.name == "t"][-1] is Phase.SUCCEEDED


async def a_pool_whose_controller_pods_find_no_node_admits_nothing_more(
    site: Site, controllers: FakeControllers
) -> None:
    controllers.parts["n1"] = controllers.parts["n2"] = never_start  # and the control plane has no nodes
    pool = await site.make_pool("full")
    await site.make_job("n1", controllerPoolName=pool)
    first = await site.job_is(
        "n1", "says why it does not start", lambda job: "is unschedulable" in job.status.description
    )
    assert first.status.reason == "Starting"

    async def closed() -> bool:
        found = {p["metadata"]["name"]: p for p in await site.list_pools()}
        conditions = found[pool].get("status", {}).get("conditions", [])
        return any(c["type"] == "CapacityAvailable" and c["status"] == "False" for c in conditions)

    async with asyncio.timeout(30):
        while not await closed():
            await pause(0.2)
    await site.make_job("n2", controllerPoolName=pool)
    await site.job_is("n2", "waits for room", lambda job: job.status.reason == "CapacityUnavailable")
    assert all(pod.job.name != "n2" for pod in controllers.seen)
    await site.change_job("n1", cancel=True)
    await site.job_is("n1", "is cancelled", lambda job: job.status.phase is Phase.CANCELLED)
