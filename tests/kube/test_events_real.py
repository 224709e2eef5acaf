"""Events as a user reads them: `kubectl describe managedjob`."""

import asyncio
import re

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.objects import ObjectRef
from managedjobs.kube.resources import MANAGED_JOBS
from tests.support.cluster_fixtures import Kubectl
from tests.support.waiting import until

pytestmark = pytest.mark.controlplane

LINE = re.compile(r"^  (Normal|Warning) +(\S+) +(\d+s(?: \(x\d+ over \d+s\))?) +(\S+) +(.*)$", re.MULTILINE)


@pytest.mark.usefixtures("managed_jobs_served")
async def test_describe_shows_what_happened_when_and_who_says_so(
    real: Client, kubectl: Kubectl, namespace: str
) -> None:
    body = {
        "apiVersion": MANAGED_JOBS.api_version,
        "kind": MANAGED_JOBS.kind,
        "metadata": {"name": "train"},
        "spec": {"image": "x", "entrypoint": "true"},
    }
    job = await real.create(MANAGED_JOBS, namespace, body, dict)
    regarding = ObjectRef(MANAGED_JOBS.api_version, "ManagedJob", namespace, "train", job["metadata"]["uid"])
    recorder = EventRecorder(real, "managedjobs-operator", "operator-1")
    sending = asyncio.create_task(recorder.run())
    recorder.record(regarding, "Normal", "Admitted", "Claimed by controller pod train-1a2b.", "Claim")
    recorder.record(regarding, "Warning", "BackOff", "Attempt 1 ended: exit code 1.", "Recover")
    await until(lambda: recorder.sent == 2, "both are sent")
    recorder.record(regarding, "Warning", "BackOff", "Attempt 1 ended: exit code 1.", "Recover")
    recorder.record(regarding, "Warning", "Long", "wörd " * 1000, "Recover")
    await recorder.flush(10)
    sending.cancel()
    assert (recorder.sent, recorder.failed, recorder.dropped) == (4, 0, 0)
    shown = (await asyncio.to_thread(kubectl, "describe", "managedjob", "train", "-n", namespace)).stdout
    table = shown[shown.index("Events:") :]
    lines = {reason: (kind, age, source, text) for kind, reason, age, source, text in LINE.findall(table)}
    assert lines["Admitted"][0] == "Normal"
    assert lines["Admitted"][2:] == ("managedjobs-operator", "Claimed by controller pod train-1a2b.")
    assert "(x2 over" in lines["BackOff"][1]
    assert lines["BackOff"][2:] == ("managedjobs-operator", "Attempt 1 ended: exit code 1.")
    assert 1020 <= len(lines["Long"][3].encode()) <= 1024
