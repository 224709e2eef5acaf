"""The chart over its life, with jobs in it: install, upgrade, uninstall, install again."""

from collections.abc import Callable

import pytest

from tests.cluster.console import wait_until
from tests.e2e.conftest import RELEASE_NAMESPACE, Helm
from tests.e2e.jobs import job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import FINISHED, JobWatch

pytestmark = pytest.mark.kind
Apply = Callable[..., None]


def test_an_upgrade_changes_nothing_for_a_running_job(apply: Apply, watch: JobWatch, release: Helm):
    apply(job("keeps", "sleep 20; echo kept"))
    before = watch.until_phase("keeps", "Running")["status"]
    release.install("--set", "logLevel=debug")
    after = watch.until_phase("keeps", *FINISHED)["status"]
    assert (after["phase"], after["attemptCount"]) == ("Succeeded", 1), after
    assert after["currentAttempt"]["jobUID"] == before["currentAttempt"]["jobUID"]


def test_jobs_outlive_an_uninstall_and_are_adopted_by_the_next_install(
    apply: Apply, watch: JobWatch, release: Helm, kubectl: Kubectl, namespace: str
):
    apply(job("outlives", "sleep 25; echo outlived"))
    running = watch.until_phase("outlives", "Running")["status"]
    release("uninstall", "managedjobs", "--wait")
    try:
        wait_until(
            lambda: not kubectl.get("pods", "-n", RELEASE_NAMESPACE)["items"],
            "operator and controller pods are gone",
            90,
        )
        kept = kubectl.get("job", "outlives", "-n", namespace)
        assert kept["metadata"]["uid"] == running["currentAttempt"]["jobUID"]
    finally:
        release.install()
    done = watch.until_phase("outlives", *FINISHED)["status"]
    assert (done["phase"], done["attemptCount"]) == ("Succeeded", 1), done
    assert kubectl("logs", "-n", namespace, "job/outlives").stdout == "outlived\n"
