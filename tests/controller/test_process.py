"""The program as a process: what it loads, what it says when it is misused, how it is told to stop."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controller.stage import PATIENCE_SECONDS, Stage

ROOT = Path(__file__).resolve().parents[2]
OUR_OWN = {"core", "api", "kube", "controller", "telemetry"}
THIRD_PARTY = {
    "aiohappyeyeballs",
    "aiohttp",
    "aiosignal",
    "attr",
    "frozenlist",
    "idna",
    "msgspec",
    "multidict",
    "propcache",
    "typing_extensions",
    "yarl",
}
"""aiohttp and msgspec, and what these two cannot do without."""

LOADED = """
import sys
before = set(sys.modules)
import managedjobs.__main__, managedjobs.controller.main
for name in sorted(set(sys.modules) - before):
    print(name)
"""


def program(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the controller to its end."""
    command = [sys.executable, "-m", "managedjobs", "controller", *arguments]
    given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment}
    return subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False, timeout=60)


def test_a_controller_loads_nothing_that_it_does_not_need():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = done.stdout.split()
    ours = {name.split(".")[1] for name in loaded if name.startswith("managedjobs.") and name.count(".") >= 1}
    assert ours <= OUR_OWN | {"__main__"}, ours
    strangers = {name.split(".")[0] for name in loaded} - sys.stdlib_module_names - THIRD_PARTY - {"managedjobs"}
    assert {name for name in strangers if not name.startswith("_cython_")} - {"cython_runtime"} == set()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        pytest.param({}, "MANAGEDJOBS_POD_UID is not set", id="no identity"),
        pytest.param(
            {"MANAGEDJOBS_POD_UID": "u", "MANAGEDJOBS_KEEP_JOBS": "perhaps"},
            "MANAGEDJOBS_KEEP_JOBS is 'perhaps': write one of true, false",
            id="a word that is none of the choices",
        ),
        pytest.param(
            {"MANAGEDJOBS_POD_UID": "u", "MANAGEDJOBS_LOG_LEVEL": "loud"}, "MANAGEDJOBS_LOG_LEVEL", id="no such level"
        ),
        pytest.param({"MANAGEDJOBS_POD_UID": "u"}, "no way to reach a cluster", id="no cluster"),
        pytest.param({"MANAGEDJOBS_POD_UID": "u", "KUBECONFIG": "/no/such/file"}, "/no/such/file", id="no kubeconfig"),
    ],
)
def test_misuse_is_said_in_plain_words_with_exit_code_2(environment: dict[str, str], says: str):
    done = program("--namespace", "n", "--name", "train", environment=environment)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.controlplane
async def test_a_controller_that_is_told_to_stop_leaves_at_once_and_writes_nothing(stage: Stage, serving: Path):
    await stage.submit()
    environment = {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(serving),
        "MANAGEDJOBS_POD_UID": "first",
        "MANAGEDJOBS_JOB_UID": stage.uid,
        "MANAGEDJOBS_LOG_FORMAT": "json",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "managedjobs", "controller", "--namespace", stage.namespace, "--name", stage.name),
        cwd=ROOT,
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    await stage.run_pods()
    await stage.until_phase("Running")
    before = await stage.job()
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert (await stage.job())["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert await stage.child() is not None
