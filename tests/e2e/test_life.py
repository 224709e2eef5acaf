"""A job's life as its user sees it: applied, run, ended."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.jobs import job
from tests.support.cluster_fixtures import Kubectl
from tests.support.jobwatch import FINISHED, JobWatch, phase_of, state_of

pytestmark = pytest.mark.kind
MANIFESTS = Path(__file__).parent / "manifests"
Apply = Callable[..., None]


def test_a_job_runs_to_success_and_keeps_its_log(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    apply(job("hello", "echo hello from attempt $MANAGEDJOBS_ATTEMPT"))
    done = watch.until_phase("hello", *FINISHED)
    assert phase_of(done) == "Succeeded", done["status"]
    assert done["status"]["exitCode"] == 0
    assert kubectl("logs", "-n", namespace, "job/hello").stdout == "hello from attempt 1\n"


def test_a_failed_program_shows_its_exit_code_and_last_line(
    apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str
):
    apply(job("broken", "exec 2>&1; echo starting; echo 'no such column: price' >&2; exit 3"))
    failed = watch.until_phase("broken", *FINISHED)["status"]
    assert (failed["phase"], failed["reason"], failed["exitCode"]) == ("Failed", "ProgramFailed", 3)
    assert "exit code 3" in failed["description"]
    assert "no such column: price" in failed["description"]
    assert kubectl("logs", "-n", namespace, "job/broken").stdout == "starting\nno such column: price\n"


def test_a_program_that_needs_too_much_memory_is_told_its_limit(apply: Apply, watch: JobWatch):
    apply(job("hungry", "python3 -c 'x = bytearray(300 << 20)'", resources={"limits": {"memory": "32Mi"}}))
    failed = watch.until_phase("hungry", *FINISHED)["status"]
    assert (failed["phase"], failed["reason"], failed["exitCode"]) == ("Failed", "OutOfMemory", 137)
    assert "32Mi" in failed["description"]


def test_the_jobs_of_a_group_find_each_other(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    line = (
        "python3 -c 'import os, socket, time\n"
        "deadline = time.monotonic() + 30\n"
        "while True:\n"
        "    try:\n"
        '        print(socket.gethostbyname(os.environ["MASTER_ADDR"]), os.environ["WORLD_SIZE"]); break\n'
        "    except OSError:\n"
        "        if time.monotonic() > deadline: raise\n"
        "        time.sleep(0.5)\n'"
    )
    apply(job("group", line, replicas=2))
    done = watch.until_phase("group", *FINISHED)["status"]
    assert done["phase"] == "Succeeded", done
    logs = kubectl("logs", "-n", namespace, "-l", "managedjobs.dev/job-name=group").stdout.split()
    assert logs[1::2] == ["2", "2"]
    assert logs[0] == logs[2]


def test_a_job_written_by_somebody_else_succeeds(apply: Apply, watch: JobWatch, kubectl: Kubectl, namespace: str):
    assert apply is not None
    kubectl("apply", "-n", namespace, "-f", str(MANIFESTS / "plain.yaml"))
    done = watch.until_phase("plain", *FINISHED)["status"]
    assert done["phase"] == "Succeeded", done
    logs = kubectl("logs", "-n", namespace, "-l", "managedjobs.dev/job-name=plain").stdout.splitlines()
    assert sorted(logs) == ["good morning from pod 0 of 2", "good morning from pod 1 of 2"]


def test_more_jobs_than_slots_wait_with_the_limit_and_their_place(apply: Apply, watch: JobWatch, small_pool: str):
    names = [f"part-{number}" for number in range(6)]
    apply(*(job(name, "sleep 4", controllerPoolName=small_pool) for name in names))
    watch.until(
        "every job has succeeded",
        lambda jobs: all(phase_of(jobs.get(name)) == "Succeeded" for name in names),
        seconds=180,
    )
    waiting = [state["status"] for name in names for state in watch.seen(name) if "position" in str(state["status"])]
    texts = [status["description"] for status in waiting if status["reason"] == "WaitingForRunSlot"]
    assert any("of 4 in pool" in text and "all 2 run slots are in use" in text for text in texts), waiting


def test_both_limits_hold_at_every_moment(apply: Apply, watch: JobWatch, small_pool: str):
    names = [f"part-{number}" for number in range(5)]
    apply(*(job(name, "sleep 2", controllerPoolName=small_pool) for name in names))
    launching: set[str] = set()
    live: set[str] = set()
    watch.until(
        "every job has succeeded",
        lambda jobs: all(phase_of(jobs.get(name)) == "Succeeded" for name in names),
        seconds=180,
    )
    for state in watch.history:
        name, where = state["metadata"]["name"], state_of(state)
        (launching.add if where == "Launching" else launching.discard)(name)
        (live.discard if where in ("Waiting", "Done", "Suspended") else live.add)(name)
        assert len(launching) <= 1, (launching, state)
        assert len(live) <= 2, (live, state)
