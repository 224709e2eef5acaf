"""Bad input: refused by the API server, or ended or held with a reason, a cause and an Event."""

from collections.abc import Callable

import pytest

from tests.e2e.jobs import job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import JobWatch, state_of

pytestmark = pytest.mark.kind
Apply = Callable[..., None]


def test_a_misspelt_field_is_refused_at_apply(kubectl: Kubectl, namespace: str, watch: JobWatch):
    assert watch is not None
    with pytest.raises(AssertionError, match="replicaz"):
        kubectl.apply(job("typo", "true", replicaz=2), namespace=namespace)


def test_an_unknown_pool_holds_the_job_and_says_so(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    apply(job("lost", "true", controllerPoolName="no-such-pool"))
    watch.until("it is held", lambda jobs: jobs["lost"]["status"]["reason"] == "PoolNotFound", seconds=30)
    assert "no-such-pool" in watch.jobs["lost"]["status"]["description"]
    assert "PoolNotFound" in kubectl("describe", "managedjob", "lost", "-n", namespace).stdout


def test_a_foreign_job_of_the_same_name_is_named(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    kubectl("create", "job", "taken", "-n", namespace, "--image=managedjobs:dev", "--", "sh", "-c", "sleep 3600")
    apply(job("taken", "true"))
    watch.until("it is held", lambda jobs: jobs["taken"]["status"]["reason"] == "NameTaken", seconds=60)
    assert "taken" in watch.jobs["taken"]["status"]["description"]
    assert "NameTaken" in kubectl("describe", "managedjob", "taken", "-n", namespace).stdout
    assert kubectl.get("job", "taken", "-n", namespace)["spec"].get("suspend") is False


def test_a_template_that_the_api_server_refuses_ends_the_job_with_the_cause(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    body = job("refused", "unused")
    container = {
        "name": "main",
        "image": body["spec"]["image"],
        "volumeMounts": [{"name": "nowhere", "mountPath": "/x"}],
    }
    body["spec"] = {"template": {"spec": {"containers": [container]}}}
    apply(body)
    failed = watch.until_phase("refused", "Failed")["status"]
    assert failed["reason"] == "InvalidTemplate"
    assert "nowhere" in failed["description"]
    assert "InvalidTemplate" in kubectl("describe", "managedjob", "refused", "-n", namespace).stdout


def test_pods_that_the_api_server_refuses_end_the_job_with_the_cause(apply: Apply, watch: JobWatch):
    apply(job("blank", "true", image=" a "))
    failed = watch.until_phase("blank", "Failed")["status"]
    assert failed["reason"] == "InvalidTemplate"
    assert "image" in failed["description"]


def test_an_image_that_can_not_be_pulled_is_named_and_does_not_hold_the_launch_slot(apply: Apply, watch: JobWatch):
    apply(job("missing", "true") | {"spec": {"image": "localhost:1/no-such:1", "command": ["true"]}})
    watch.until("it is parked", lambda jobs: state_of(jobs["missing"]) == "Parked", seconds=90)
    assert "image" in watch.jobs["missing"]["status"]["description"]
