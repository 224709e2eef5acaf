"""A job's life under its controller: taken over, launched, run, ended."""

import pytest

from managedjobs.kube.resources import EVENTS, SERVICES
from tests.controller.stage import Stage, eventually, exit_code

pytestmark = pytest.mark.controlplane


async def test_a_job_is_taken_over_launched_run_and_ends_in_success(stage: Stage):
    await stage.submit()
    controller = stage.start()
    launching = await stage.until_phase("Launching")
    assert launching["controller"]["podUID"] == "first"
    assert (launching["currentAttempt"]["number"], launching["attemptCount"]) == (1, 1)
    [pod] = await stage.run_pods()
    running = await stage.until_phase("Running")
    assert running["schedule"]["state"] == "Alive"
    await stage.end_pod(pod, 0)
    done = await stage.until_phase("Succeeded")
    assert (done["exitCode"], done["attempts"][0]["ending"]) == (0, "Succeeded")
    assert await exit_code(controller) == 0
    assert await stage.child() is not None, "the last child Job stays for its logs"


async def test_a_job_that_is_done_before_it_was_seen_running_needs_one_write_less(stage: Stage):
    await stage.submit()
    controller = stage.start()
    [pod] = await stage.until_pods(1)
    await stage.end_pod(pod, 0)
    done = await stage.until_phase("Succeeded")
    assert "firstUpTime" in done
    assert await exit_code(controller) == 0


async def test_a_failed_program_ends_the_job_with_exit_code_and_last_line(stage: Stage):
    await stage.submit()
    controller = stage.start()
    [pod] = await stage.run_pods()
    await stage.until_phase("Running")
    await stage.end_pod(pod, 3, "starting\nKeyError: 'lr'\n")
    failed = await stage.until_phase("Failed")
    assert (failed["reason"], failed["exitCode"], failed["failureCount"]) == ("ProgramFailed", 3, 1)
    assert failed["description"] == "Failed: exit code 3 in pod 0, attempt 1. Last line: \"KeyError: 'lr'\"."
    assert await exit_code(controller) == 0


async def test_a_deleted_pod_is_a_recovery_after_the_next_grant(stage: Stage):
    await stage.submit()
    controller = stage.start()
    [pod] = await stage.run_pods()
    await stage.until_phase("Running")
    await stage.delete_pod(pod)
    waiting = await stage.until_state("AliveWaiting")
    assert (waiting["phase"], waiting["attempts"][0]["ending"]) == ("Recovering", "PodDeleted")
    assert waiting.get("failureCount", 0) == 0
    await stage.grant()
    [pod] = await stage.run_pods()
    assert pod["metadata"]["labels"]["managedjobs.dev/attempt"] == "2"
    await stage.until_phase("Running")
    await stage.end_pod(pod, 0)
    done = await stage.until_phase("Succeeded")
    assert [record["ending"] for record in done["attempts"]] == ["PodDeleted", "Succeeded"]
    assert await exit_code(controller) == 0


async def test_a_deleted_child_job_is_a_recovery(stage: Stage):
    await stage.submit()
    stage.start()
    await stage.run_pods()
    await stage.until_phase("Running")
    await stage.delete_child()
    waiting = await stage.until_state("AliveWaiting")
    assert waiting["attempts"][0]["ending"] == "ChildJobDeleted"


async def test_the_pods_of_a_group_have_a_service_and_know_their_place(stage: Stage):
    await stage.submit(replicas=3)
    stage.start()
    pods = await stage.until_pods(3)
    service = await stage.client.get(SERVICES, stage.namespace, f"{stage.name}-peers", dict)
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert {pod["spec"]["subdomain"] for pod in pods} == {f"{stage.name}-peers"}
    await stage.run_pods(3)
    running = await stage.until_phase("Running")
    assert running["currentAttempt"]["podsWanted"] == 3


async def test_transitions_are_told_as_events(stage: Stage):
    await stage.submit()
    controller = stage.start()
    [pod] = await stage.until_pods(1)
    await stage.end_pod(pod, 0)
    await exit_code(controller)

    async def told() -> bool:
        found = await stage.client.list(EVENTS, stage.namespace, dict, field_selector=f"regarding.uid={stage.uid}")
        return {event["reason"] for event in found.items} >= {"Launching", "Succeeded"}

    await eventually(told, lambda: "Events about Launching and Succeeded")


async def test_a_launching_job_says_what_its_pods_wait_for(stage: Stage):
    await stage.submit(replicas=2)
    stage.start()
    said = await stage.until(lambda status: "unschedulable" in status["description"], "the scheduler's words")
    assert said["description"] == (
        "Launching attempt 1: 0 of 2 pods running; 2 unschedulable: no nodes available to schedule pods."
    )
