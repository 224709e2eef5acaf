"""Controller pods: what is created, and what is read back."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from managedjobs.api.controller_manifest import ControllerSettings, controller_pod
from managedjobs.api.controller_pod import ControllerPodWire, parse_controller_pod
from managedjobs.api.names import controller_pod_name
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.pool import MIB, PoolSpec, Toleration
from tests.support.jobs import make_job

CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def manifest(settings: ControllerSettings | None = None, pool: PoolSpec | None = None, predecessor: str = "pod-0"):
    given = settings or ControllerSettings(image="registry.example/managedjobs:1")
    return controller_pod(
        given, make_job("train"), pool or PoolSpec(), predecessor=predecessor, term=4, account_uid="sa-uid"
    )


def read(status: dict[str, object], **metadata: object) -> ControllerPod:
    """The created pod as the API server would send it back with this status."""
    body = manifest()
    body["metadata"] |= {
        "uid": "pod-1",
        "resourceVersion": "9",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        **metadata,
    }
    pod = parse_controller_pod(msgspec.convert({**body, "status": status}, ControllerPodWire))
    assert pod is not None
    return pod


def terminated(code: int, reason: str = "Error", second: int = 30) -> dict[str, object]:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": f"2026-01-02T03:04:{second:02}Z"}}


def test_what_is_created_reads_back_as_the_claim_it_is():
    pod = read({"phase": "Pending"})
    assert pod.name == controller_pod_name("train", "train", "pod-0")
    assert (pod.job_uid, str(pod.job), pod.pool, pod.predecessor) == ("train", "team-a/train", "default", "pod-0")
    assert (pod.phase, pod.created, pod.scheduled) == (PodPhase.PENDING, CREATED, False)


def test_the_pod_has_no_more_rights_and_room_than_it_needs():
    spec = manifest()["spec"]
    [container] = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"] == {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "350Mi"}}
    assert spec["automountServiceAccountToken"] is False
    assert [list(volume) for volume in spec["volumes"]] == [["name", "projected"]]
    assert spec["restartPolicy"] == "OnFailure"


def test_the_program_is_told_whose_controller_it_is():
    [container] = manifest()["spec"]["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert container["args"] == ["controller", "--namespace", "team-a", "--name", "train"]
    assert (env["MANAGEDJOBS_JOB_UID"], env["MANAGEDJOBS_PREDECESSOR"]) == ("train", "pod-0")
    assert {"MANAGEDJOBS_POD_NAME", "MANAGEDJOBS_POD_UID", "MANAGEDJOBS_NODE_NAME"} <= env.keys()


def test_the_pod_can_be_evicted_and_drained_and_belongs_to_its_account():
    meta = manifest()["metadata"]
    assert meta["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "true"
    [owner] = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ServiceAccount", "sa-uid", True)
    assert meta["annotations"]["managedjobs.dev/leader-term"] == "4"


def test_the_pod_goes_where_the_pool_is_and_leaves_a_lost_node_soon():
    pool = PoolSpec(node_selector={"role": "jobs"}, tolerations=(Toleration(key="jobs", operator="Exists"),))
    spec = manifest(pool=pool)["spec"]
    assert spec["nodeSelector"] == {"role": "jobs"}
    assert spec["tolerations"][0] == {"key": "jobs", "operator": "Exists"}
    assert {t["key"]: t.get("tolerationSeconds") for t in spec["tolerations"][1:]} == {
        "node.kubernetes.io/unreachable": 30,
        "node.kubernetes.io/not-ready": 30,
    }


def test_the_request_never_is_above_the_limit():
    [container] = manifest(pool=PoolSpec(memory_per_job=16 * MIB))["spec"]["containers"]
    assert container["resources"]["requests"]["memory"] == container["resources"]["limits"]["memory"] == "16Mi"


def test_chosen_settings_are_in_the_pod():
    settings = ControllerSettings(image_pull_policy="Never", image_pull_secrets=("a", "b"), priority_class="high")
    spec = manifest(settings)["spec"]
    assert spec["containers"][0]["imagePullPolicy"] == "Never"
    assert spec["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert spec["priorityClassName"] == "high"


def test_an_unschedulable_pod_says_why():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes\nfit."}
    assert read({"conditions": [condition]}).unschedulable == "0/3 nodes fit."


def test_a_pod_held_by_a_scheduling_gate_is_not_called_unschedulable():
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert read({"conditions": [condition]}).unschedulable is None


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        ({"reason": "ContainerCreating"}, None),
        ({"reason": "ImagePullBackOff", "message": "no such image"}, "ImagePullBackOff: no such image"),
        ({"reason": "CrashLoopBackOff"}, "CrashLoopBackOff"),
    ],
)
def test_trouble_at_the_start_is_told(waiting: dict[str, str], said: str | None):
    assert read({"containerStatuses": [{"name": "controller", "state": {"waiting": waiting}}]}).waiting == said


LAST = CREATED + timedelta(seconds=25)
FAILURES = [
    ("exit 0", {"state": terminated(0)}, {}, None),
    ("exit 1", {"state": terminated(1, second=30)}, {}, LAST),
    ("out of memory", {"state": terminated(137, "OOMKilled")}, {}, LAST),
    ("restarted", {"state": {"running": {}}, "lastState": terminated(1)}, {}, LAST),
    ("lost with its node", {"state": terminated(137, "ContainerStatusUnknown")}, {}, None),
    ("evicted", {"state": terminated(137)}, {"reason": "Evicted", "phase": "Failed"}, None),
    (
        "disrupted",
        {"state": terminated(143)},
        {"conditions": [{"type": "DisruptionTarget", "status": "True"}]},
        None,
    ),
]


@pytest.mark.parametrize(("container", "status", "at"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES])
def test_only_its_own_exits_count_as_its_failures(
    container: dict[str, object], status: dict[str, object], at: datetime | None
):
    assert read({**status, "containerStatuses": [container]}).failed_at == at


def test_an_exit_while_it_is_being_deleted_is_not_its_failure():
    pod = read({"containerStatuses": [{"state": terminated(143)}]}, deletionTimestamp="2026-01-02T03:05:00Z")
    assert pod.failed_at is None
    assert pod.deletion_time == CREATED + timedelta(seconds=55)


def test_a_pod_without_a_job_is_none_of_ours():
    wire = msgspec.convert({"metadata": {"name": "x", "creationTimestamp": "2026-01-02T03:04:05Z"}}, ControllerPodWire)
    assert parse_controller_pod(wire) is None
