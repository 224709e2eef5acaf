"""What a job survives: the loss of its pods, of its controller, of the operator."""

from collections.abc import Callable

import pytest

from tests.e2e.conftest import RELEASE_NAMESPACE
from tests.e2e.jobs import STAY, job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import FINISHED, JobWatch

pytestmark = pytest.mark.kind
Apply = Callable[..., None]
LONG_THEN_SHORT = 'if [ "$MANAGEDJOBS_ATTEMPT" = 1 ]; then sleep 3600; else sleep 1; fi'


def test_a_deleted_pod_leads_to_another_attempt(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    apply(job("lost", LONG_THEN_SHORT, replicas=2))
    watch.until_phase("lost", "Running")
    kubectl("delete", "pod", "-n", namespace, "-l", "batch.kubernetes.io/job-completion-index=1", "--grace-period=1")
    done = watch.until_phase("lost", *FINISHED)["status"]
    assert (done["phase"], done["attemptCount"], done["recoveryCount"]) == ("Succeeded", 2, 1), done
    assert done.get("failureCount", 0) == 0
    assert "Recovering" in [state["status"]["phase"] for state in watch.seen("lost")]
    first = done["attempts"][0]
    assert (first["number"], first["ending"]) == (1, "PodDeleted"), done["attempts"]


def test_pods_that_their_job_left_behind_are_ended_before_the_next_attempt(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    apply(job("orphaned", f'if [ "$MANAGEDJOBS_ATTEMPT" = 1 ]; then {STAY}; fi'))
    watch.until_phase("orphaned", "Running")
    kubectl("delete", "job", "orphaned", "-n", namespace, "--cascade=orphan")
    done = watch.until_phase("orphaned", *FINISHED)["status"]
    assert (done["phase"], done["attemptCount"], done["attempts"][0]["ending"]) == ("Succeeded", 2, "ChildJobDeleted")
    pods = kubectl.get("pods", "-n", namespace)["items"]
    assert [pod["metadata"]["labels"]["managedjobs.dev/attempt"] for pod in pods] == ["2"]


def test_a_forgiven_failure_is_started_again(apply: Apply, watch: JobWatch):
    line = 'test "$MANAGEDJOBS_ATTEMPT" = 2'
    apply(job("flaky", line, recovery={"maxRestartsOnErrors": 1, "backoff": {"initialSeconds": 1}}))
    done = watch.until_phase("flaky", *FINISHED)["status"]
    assert (done["phase"], done["attemptCount"], done["failureCount"]) == ("Succeeded", 2, 1), done


def test_the_work_goes_on_when_its_controller_pod_is_deleted(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    apply(job("steady", "sleep 15; echo finished"))
    running = watch.until_phase("steady", "Running")["status"]
    kubectl("delete", "pod", "-n", RELEASE_NAMESPACE, running["controller"]["podName"], "--grace-period=1")
    watch.until(
        "another controller has taken over",
        lambda jobs: jobs["steady"]["status"]["controller"]["podUID"] != running["controller"]["podUID"],
        seconds=30,
    )
    done = watch.until_phase("steady", *FINISHED)["status"]
    assert (done["phase"], done["attemptCount"]) == ("Succeeded", 1), done
    assert kubectl("logs", "-n", namespace, "job/steady").stdout == "finished\n"


def test_jobs_run_and_wait_on_while_the_operator_is_away(apply: Apply, watch: JobWatch, kubectl: Kubectl):
    apply(job("through", "sleep 5"))
    watch.until_phase("through", "Running")
    deployment = ("-n", RELEASE_NAMESPACE, "deployment/managedjobs-operator")
    kubectl("scale", *deployment, "--replicas=0")
    kubectl("wait", "-n", RELEASE_NAMESPACE, "--for=delete", "pod", "-l", "app.kubernetes.io/component=operator")
    try:
        apply(job("later", "echo ok"))
        assert watch.until_phase("through", *FINISHED)["status"]["phase"] == "Succeeded"
        waiting = watch.until_phase("later", "Pending")["status"]
        assert (waiting["reason"], bool(waiting["description"])) == ("Queued", True)
    finally:
        kubectl("scale", *deployment, "--replicas=1")
    assert watch.until_phase("later", *FINISHED)["status"]["phase"] == "Succeeded"
