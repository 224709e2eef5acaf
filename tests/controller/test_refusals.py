"""What the API server will not have: said with its cause, ended where nothing can cure it."""

from typing import Any

import pytest

from managedjobs.kube.errors import Invalid
from managedjobs.kube.resources import JOBS, NAMESPACES, Resource
from tests.controller.stage import Object, Stage, exit_code

pytestmark = pytest.mark.controlplane
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", namespaced=True)


async def test_a_template_that_the_api_server_refuses_fails_with_its_words(stage: Stage):
    container = {"name": "main", "image": "busybox", "volumeMounts": [{"name": "nowhere", "mountPath": "/x"}]}
    await stage.submit(template={"spec": {"containers": [container]}})
    controller = stage.start()
    failed = await stage.until_phase("Failed")
    assert failed["reason"] == "InvalidTemplate"
    assert 'Not found: "nowhere"' in failed["description"]
    assert await exit_code(controller) == 0


async def test_a_foreign_job_of_the_name_is_named_and_left_alone(stage: Stage):
    await stage.submit()
    await stage.client.create(JOBS, stage.namespace, foreign_job(stage.name), dict)
    stage.start()
    held = await stage.until_state("AliveBackoff")
    assert (held["reason"], held["attempts"][0]["ending"]) == ("NameTaken", "NameTaken")
    assert f"a Job {stage.name} that is not ours" in held["description"]
    child = await stage.child()
    assert child is not None
    assert "deletionTimestamp" not in child["metadata"]


async def test_the_uid_in_a_stop_keeps_it_from_another_job_of_the_name(stage: Stage):
    await stage.client.create(JOBS, stage.namespace, foreign_job(stage.name), dict)
    body = {"metadata": {"uid": "of-ours"}, "spec": {"suspend": True}}
    with pytest.raises(Invalid) as refused:
        await stage.client.patch(JOBS, stage.namespace, stage.name, body, dict)
    assert "metadata.uid" in [cause["field"] for cause in refused.value.details["causes"]]


async def test_a_quota_that_is_full_lets_the_job_back_off(stage: Stage):
    await stage.submit()
    await create_quota(stage, "count/jobs.batch")
    stage.start()
    backoff = await stage.until_state("AliveBackoff")
    assert backoff["attempts"][0]["ending"] == "QuotaExceeded"
    assert "exceeded quota" in backoff["description"]


async def test_pods_that_a_quota_keeps_from_being_created_are_said_to_be_so(stage: Stage):
    await create_quota(stage, "count/pods")
    await stage.submit(replicas=2)
    stage.start()
    said = await stage.until(lambda status: "2 not created" in status["description"], "pods are not created")
    assert "exceeded quota" in said["description"]


async def test_pods_that_a_policy_forbids_fail_the_job(stage: Stage):
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await stage.client.patch(NAMESPACES, None, stage.namespace, labels, dict)
    await stage.submit()
    controller = stage.start()
    failed = await stage.until_phase("Failed")
    assert failed["reason"] == "NotAllowed"
    assert "violates PodSecurity" in failed["description"]
    assert await exit_code(controller) == 0


async def test_an_impossible_image_name_fails_the_job_at_once(stage: Stage):
    await stage.submit()
    controller = stage.start()
    [pod] = await stage.until_pods(1)
    waiting = {"reason": "InvalidImageName", "message": 'couldn\'t parse image name "B@D"'}
    await stage.set_pod(pod, "Pending", {"waiting": waiting})
    failed = await stage.until_phase("Failed")
    assert failed["reason"] == "InvalidImageName"
    assert "container main" in failed["description"]
    assert await exit_code(controller) == 0


def foreign_job(name: str) -> Object:
    """A Job that somebody else made."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "other", "image": "busybox"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}},
    }


async def create_quota(stage: Stage, what: str) -> None:
    """Allow none of that in the namespace, and wait until the server counts."""
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {what: "0"}},
    }
    await stage.client.create(QUOTAS, stage.namespace, body, dict)
    await stage.until_there(QUOTAS, "none", lambda quota: quota.get("status", {}).get("hard"))
