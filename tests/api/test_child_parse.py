"""Jobs, pods, nodes and Events of the API server, as values."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from managedjobs.api.child_parse import (
    newest_failed_create,
    parse_child_job,
    parse_indexes,
    parse_node,
    parse_pod,
    parse_service,
)
from managedjobs.api.child_wire import EventWire, JobWire, NodeWire, PodWire, ServiceWire
from managedjobs.core.driving.view import ChildJob, Node, Service
from managedjobs.core.pod_phase import PodPhase

AT = "2026-03-04T12:00:00Z"
MOMENT = datetime.fromisoformat(AT)
Object = dict[str, Any]


def job(status: Object | None = None, spec: Object | None = None, **meta: Any) -> ChildJob:  # noqa: ANN401 -- any metadata
    body = {"metadata": {"name": "train", "uid": "j", **meta}, "spec": spec or {}, "status": status or {}}
    return parse_child_job(msgspec.convert(body, JobWire, strict=False))


def condition(type_: str, status: str = "True", **more: str) -> Object:
    return {"type": type_, "status": status, "lastTransitionTime": AT, **more}


def test_a_job_says_whose_it_is_and_which_attempt():
    owner = {"uid": "u-1", "kind": "ManagedJob", "apiVersion": "managedjobs.dev/v1alpha1", "controller": True}
    other = {"uid": "x", "kind": "ConfigMap"}
    ours = job(
        ownerReferences=[other, owner], labels={"managedjobs.dev/job-uid": "u-1", "managedjobs.dev/attempt": "3"}
    )
    assert (ours.owner_uid, ours.owner_is_managed_job, ours.job_uid, ours.attempt) == ("u-1", True, "u-1", 3)
    assert ours.made_for("u-1")
    foreign = job()
    assert (foreign.owner_uid, foreign.attempt, foreign.made_for("u-1")) == (None, None, False)


@pytest.mark.parametrize(
    ("conditions", "want"),
    [
        pytest.param([], (False, False, False), id="runs"),
        pytest.param([condition("Complete")], (True, False, True), id="complete"),
        pytest.param([condition("SuccessCriteriaMet")], (True, False, False), id="about to be complete"),
        pytest.param([condition("FailureTarget")], (False, True, False), id="about to have failed"),
        pytest.param([condition("Failed", message="m")], (False, True, True), id="failed"),
        pytest.param([condition("Failed", "False")], (False, False, False), id="a condition that is not true"),
    ],
)
def test_conditions_of_a_job(conditions: list[Object], want: tuple[bool, bool, bool]):
    seen = job({"conditions": conditions})
    assert (seen.complete, seen.failed, seen.over) == want


def test_suspension_of_a_job():
    held = job({"conditions": [condition("Suspended")]}, {"suspend": True})
    assert (held.suspended, held.suspended_at, held.resumed_at) == (True, MOMENT, None)
    resumed = job({"conditions": [condition("Suspended", "False")]}, {"suspend": False})
    assert (resumed.suspended, resumed.suspended_at, resumed.resumed_at) == (False, None, MOMENT)
    assert job(labels={"kueue.x-k8s.io/queue-name": "q"}).queued


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", set()),
        ("3", {3}),
        ("0,2-4,7", {0, 2, 3, 4, 7}),
        ("x,1-", {1}),
        ("0-99999999", set()),
    ],
)
def test_completed_indexes(text: str, want: set[int]):
    assert parse_indexes(text) == want


POD: Object = {
    "metadata": {
        "name": "train-1-abcde",
        "uid": "p",
        "creationTimestamp": AT,
        "deletionTimestamp": "2026-03-04T12:01:00Z",
        "deletionGracePeriodSeconds": 30,
        "labels": {"batch.kubernetes.io/job-completion-index": "1", "managedjobs.dev/job-uid": "u-1"},
        "ownerReferences": [{"uid": "j", "kind": "Job", "controller": True}],
    },
    "spec": {
        "nodeName": "node-7",
        "containers": [
            {
                "name": "main",
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "resources": {"limits": {"memory": "1Gi"}},
            },
            {"name": "helper"},
        ],
        "initContainers": [{"name": "proxy", "restartPolicy": "Always"}],
    },
    "status": {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "the node was low on memory",
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": AT},
            {"type": "Ready", "status": "False", "reason": "PodFailed"},
            {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": "low memory"},
        ],
        "containerStatuses": [
            {
                "name": "main",
                "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "bye", "finishedAt": AT}},
            },
            {"name": "helper", "state": {"waiting": {"reason": "ContainerCreating"}}},
        ],
        "initContainerStatuses": [{"name": "proxy", "state": {"running": {"startedAt": AT}}}],
    },
}


def test_a_pod_in_all_its_parts():
    pod = parse_pod(msgspec.convert(POD, PodWire, strict=False))
    assert (pod.index, pod.job_uid, pod.owner_uid, pod.node) == (1, "u-1", "j", "node-7")
    assert (pod.phase, pod.reason, pod.disruption) == (PodPhase.FAILED, "Evicted", "TerminationByKubelet")
    assert (pod.scheduled_at, pod.ready, pod.unready_reason) == (MOMENT, False, "PodFailed")
    assert pod.deletion_asked_at == datetime.fromisoformat("2026-03-04T12:00:30Z")
    assert pod.deletion_due_at == datetime.fromisoformat("2026-03-04T12:01:00Z")
    main, helper, proxy = pod.containers
    assert (main.exit_code, main.end_reason, main.message, main.ended_at) == (137, "OOMKilled", "bye", MOMENT)
    assert (main.memory_limit, main.reports_log, main.init) == ("1Gi", True, False)
    assert (helper.waiting_reason, helper.reports_log, helper.started) == ("ContainerCreating", False, False)
    assert (proxy.init, proxy.sidecar, proxy.running) == (True, True, True)


def test_a_pod_that_was_only_just_made():
    pod = parse_pod(msgspec.convert({"metadata": {"name": "x"}, "status": {"phase": "NewWord"}}, PodWire))
    assert (pod.index, pod.node, pod.scheduled_at, pod.phase) == (None, None, None, PodPhase.UNKNOWN)
    assert not pod.deleting


def test_a_pod_that_can_not_be_placed_says_why():
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]
    pod = parse_pod(msgspec.convert({"metadata": {"name": "x"}, "status": {"conditions": conditions}}, PodWire))
    assert (pod.scheduling_reason, pod.scheduling_message) == ("Unschedulable", "no room")


@pytest.mark.parametrize(
    ("ready", "want"),
    [
        ([condition("Ready", "Unknown")], MOMENT),
        ([condition("Ready", "False")], None),
        ([condition("Ready", "True")], None),
        ([], None),
    ],
)
def test_a_node_is_silent_when_its_readiness_is_unknown(ready: list[Object], want: datetime | None):
    body = {"metadata": {"name": "node-7"}, "status": {"conditions": ready}}
    node = parse_node(msgspec.convert(body, NodeWire, strict=False))
    assert node == Node(name="node-7", unreachable_since=want)


def test_a_service_says_whose_it_is():
    body = {"metadata": {"name": "s", "ownerReferences": [{"uid": "u-1", "controller": True}]}}
    assert parse_service(msgspec.convert(body, ServiceWire)) == Service(name="s", owner_uid="u-1")


def test_the_newest_refusal_of_a_pod_is_found_among_events():
    def event(reason: str, note: str, at: str) -> EventWire:
        body = {"metadata": {"name": "e"}, "reason": reason, "note": note, "deprecatedLastTimestamp": at}
        return msgspec.convert(body, EventWire, strict=False)

    events = [
        event("FailedCreate", "new", "2026-03-04T12:00:09Z"),
        event("FailedCreate", "old", AT),
        event("SuccessfulCreate", "fine", "2026-03-04T12:00:59Z"),
    ]
    assert newest_failed_create(events) == "new"
    assert newest_failed_create([]) is None
