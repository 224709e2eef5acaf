"""One writer at a time: takeovers, controllers that were shut out, and what they leave alone."""

import pytest

from tests.controller.stage import Stage, exit_code

pytestmark = pytest.mark.controlplane


async def test_a_successor_adopts_the_running_attempt(stage: Stage):
    await stage.submit()
    first = stage.start("first")
    [pod] = await stage.run_pods()
    before = await stage.until_phase("Running")
    await stage.kill(first)
    second = stage.start("second", predecessor="first")
    after = await stage.until(lambda status: status["controller"]["podUID"] == "second", "a takeover")
    assert {key: value for key, value in after.items() if key != "controller"} == {
        key: value for key, value in before.items() if key != "controller"
    }
    await stage.end_pod(pod, 0)
    done = await stage.until_phase("Succeeded")
    assert done["attemptCount"] == 1
    assert await exit_code(second) == 0
    [same] = await stage.pods()
    assert same["metadata"]["uid"] == pod["metadata"]["uid"]


async def test_a_controller_that_is_started_again_in_its_pod_goes_on(stage: Stage):
    await stage.submit()
    first = stage.start("first")
    [pod] = await stage.run_pods()
    await stage.until_phase("Running")
    await stage.kill(first)
    again = stage.start("first")
    await stage.end_pod(pod, 0)
    done = await stage.until_phase("Succeeded")
    assert done["attemptCount"] == 1
    assert await exit_code(again) == 0


async def test_a_controller_that_is_not_the_successor_writes_nothing_and_leaves(stage: Stage):
    await stage.submit()
    stage.start("first")
    await stage.run_pods()
    await stage.until_phase("Running")
    before = await stage.job()
    for stranger in (stage.start("stranger"), stage.start("late", predecessor="someone")):
        assert await exit_code(stranger) == 0
    assert (await stage.job())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_controller_that_loses_the_fence_leaves_and_touches_nothing(stage: Stage):
    await stage.submit()
    first = stage.start("first")
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.patch_status({"controller": {"podUID": "operator/3"}})
    assert await exit_code(first) == 0
    status = (await stage.job())["status"]
    assert (status["phase"], status["controller"]["podUID"]) == ("Running", "operator/3")
    child = await stage.child()
    assert child is not None
    assert not child["spec"].get("suspend")


async def test_of_two_claims_at_once_one_takes_over_and_one_attempt_is_made(stage: Stage):
    await stage.submit()
    both = (stage.start("left"), stage.start("right"))
    await stage.until_pods(1)
    status = await stage.until_phase("Launching")
    loser = both[1] if status["controller"]["podUID"] == "left" else both[0]
    assert await exit_code(loser) == 0
    assert status["attemptCount"] == 1


async def test_a_controller_of_another_object_of_the_name_leaves_it_alone(stage: Stage):
    await stage.submit()
    real = stage.uid
    stage.uid = "of-an-earlier-job"
    assert await exit_code(stage.start("first")) == 0
    stage.uid = real
    assert "controller" not in (await stage.job())["status"]


async def test_a_child_job_that_is_suspended_from_outside_parks_the_job_and_is_no_ending(stage: Stage):
    await stage.submit()
    controller = stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.suspend_child(True)
    parked = await stage.until_state("Parked")
    assert parked["reason"] == "Parked"
    assert "endTime" not in parked["attempts"][0]
    await stage.suspend_child(False)
    [pod] = await stage.run_pods()
    again = await stage.until_phase("Running")
    assert (again["schedule"]["state"], again["attemptCount"]) == ("Alive", 1)
    await stage.end_pod(pod, 0)
    await stage.until_phase("Succeeded")
    assert await exit_code(controller) == 0
