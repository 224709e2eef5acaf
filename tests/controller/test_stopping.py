"""Cancel, suspend, deadlines: pods are stopped first, the outcome is written when none runs any more."""

import pytest

from tests.controller.stage import Stage, exit_code

pytestmark = pytest.mark.controlplane


async def test_a_launching_job_is_cancelled(stage: Stage):
    await stage.submit(replicas=2)
    controller = stage.start()
    await stage.until_pods(2)
    await stage.patch_job(cancel=True)
    ended = await stage.until_phase("Cancelled")
    assert (ended["reason"], ended["attempts"][0]["ending"]) == ("Cancelled", "Cancelled")
    assert await exit_code(controller) == 0
    assert await stage.pods() == []
    child = await stage.child()
    assert child is not None
    assert child["spec"]["suspend"] is True


async def test_a_running_job_is_cancelled(stage: Stage):
    await stage.submit()
    controller = stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.patch_job(cancel=True)
    await stage.until_phase("Cancelled")
    assert await exit_code(controller) == 0
    assert await stage.pods() == []


async def test_a_cancelled_job_leaves_no_child_job_where_they_are_not_kept(stage: Stage):
    await stage.submit()
    controller = stage.start(keep_jobs=False)
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.patch_job(cancel=True)
    assert await exit_code(controller) == 0
    await stage.until_no_child()


async def test_a_suspended_job_gives_its_slots_back_and_its_next_attempt_is_a_new_one(stage: Stage):
    await stage.submit()
    controller = stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.patch_job(suspend=True)
    suspended = await stage.until_phase("Suspended")
    assert (suspended["schedule"]["state"], suspended["attempts"][0]["ending"]) == ("Suspended", "Suspended")
    assert await exit_code(controller) == 0
    await stage.patch_job(suspend=False)
    await stage.patch_status({"phase": "Pending", "reason": "Queued", "schedule": {"state": "Waiting"}})
    stage.start("second", predecessor="first")
    launching = await stage.until_phase("Launching")
    assert launching["currentAttempt"]["number"] == 2
    [pod] = await stage.run_pods()
    assert pod["metadata"]["labels"]["managedjobs.dev/attempt"] == "2"
    await stage.until_phase("Running")


async def test_a_job_that_was_cancelled_while_it_waited_is_left_to_the_operator(stage: Stage):
    await stage.submit(cancel=True)
    controller = stage.start()
    await stage.patch_status({"phase": "Cancelled", "reason": "Cancelled", "schedule": {"state": "Done"}})
    assert await exit_code(controller) == 0
    assert await stage.child() is None


async def test_a_job_past_its_deadline_is_stopped_and_fails(stage: Stage):
    await stage.submit(activeDeadlineSeconds=2)
    controller = stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    failed = await stage.until_phase("Failed")
    assert (failed["reason"], failed["attempts"][0]["ending"]) == ("DeadlineExceeded", "DeadlineExceeded")
    assert "2 s" in failed["description"]
    assert await exit_code(controller) == 0
    assert await stage.pods() == []


async def test_a_job_that_does_not_come_up_in_time_backs_off_and_says_until_when(stage: Stage):
    await stage.submit(launchTimeoutSeconds=1)
    stage.start()
    backoff = await stage.until_state("AliveBackoff")
    assert (backoff["reason"], backoff["attempts"][0]["ending"]) == ("Backoff", "NotStarted")
    assert backoff["schedule"]["nextRetryTime"]
    assert backoff["description"].startswith("Backoff: attempt 1 did not start within 1 s")
    await stage.until_no_child()


async def test_a_deleted_job_takes_its_child_job_along(stage: Stage):
    await stage.submit()
    controller = stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.delete_job(orphan=True)
    assert await exit_code(controller) == 0
    await stage.until_no_child()
