"""The child Job and the Service that a controller creates, word for word."""

from typing import Any

import msgspec
import pytest

from managedjobs.api.child_job import child_job, peers_service
from managedjobs.api.child_wire import DrivenSpecWire
from managedjobs.api.pod_template import Attempt

INDEX = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
LABELS = {
    "managedjobs.dev/job-name": "train",
    "managedjobs.dev/job-uid": "u-1",
    "managedjobs.dev/attempt": "2",
}
OWNER = {
    "apiVersion": "managedjobs.dev/v1alpha1",
    "kind": "ManagedJob",
    "name": "train",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
Object = dict[str, Any]


def attempt(replicas: int = 1) -> Attempt:
    return Attempt(namespace="team-a", job_name="train", job_uid="u-1", number=2, replicas=replicas)


def made(spec: Object, replicas: int = 1, **more: Any) -> Object:  # noqa: ANN401 -- any argument of child_job
    return child_job(msgspec.convert(spec, DrivenSpecWire), attempt(replicas), **{"job_labels": {}, **more})


def main_of(job: Object) -> Object:
    container: Object = job["spec"]["template"]["spec"]["containers"][0]
    return container


def variables(container: Object) -> dict[str, Any]:
    return {v["name"]: v.get("value", v.get("valueFrom")) for v in container["env"]}


def test_the_short_form_becomes_this_job():
    job = made({"image": "trainer:1", "entrypoint": "python train.py", "resources": {"limits": {"cpu": "1"}}})
    assert job == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team-a", "labels": LABELS, "ownerReferences": [OWNER]},
        "spec": {
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "terminationMessagePolicy": "FallbackToLogsOnError",
                            "name": "main",
                            "image": "trainer:1",
                            "command": ["/bin/sh", "-c", "python train.py"],
                            "resources": {"limits": {"cpu": "1"}},
                            "env": [
                                {"name": "MANAGEDJOBS_JOB", "value": "train"},
                                {"name": "MANAGEDJOBS_NAMESPACE", "value": "team-a"},
                                {"name": "MANAGEDJOBS_TASK_ID", "value": "train-u-1"},
                                {"name": "MANAGEDJOBS_ATTEMPT", "value": "2"},
                                {"name": "MANAGEDJOBS_REPLICAS", "value": "1"},
                                {"name": "MANAGEDJOBS_INDEX", "valueFrom": INDEX},
                                {"name": "MASTER_ADDR", "value": "localhost"},
                                {"name": "RANK", "valueFrom": INDEX},
                                {"name": "WORLD_SIZE", "value": "1"},
                            ],
                        }
                    ],
                },
            },
        },
    }


def test_command_and_args_are_handed_through():
    main = main_of(made({"image": "i", "command": ["run"], "args": ["--fast"]}))
    assert (main["command"], main["args"]) == (["run"], ["--fast"])


def test_a_group_has_a_name_among_its_peers_and_a_first_member():
    job = made({"image": "i"}, replicas=4)
    assert job["spec"]["template"]["spec"]["subdomain"] == "train-peers"
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (4, 4)
    env = variables(main_of(job))
    assert env["MASTER_ADDR"] == "train-0.train-peers"
    assert (env["WORLD_SIZE"], env["MANAGEDJOBS_REPLICAS"], env["MANAGEDJOBS_SERVICE"]) == ("4", "4", "train-peers")
    assert env["RANK"] == INDEX


FULL: Object = {
    "metadata": {
        "name": "ignored",
        "creationTimestamp": None,
        "labels": {"team": "vision", "managedjobs.dev/attempt": "99"},
        "annotations": {"note": "kept"},
    },
    "spec": {
        "serviceAccountName": "trainer",
        "initContainers": [{"name": "fetch", "image": "f", "terminationMessagePolicy": "File"}],
        "containers": [
            {"name": "main", "image": "i", "env": [{"name": "MANAGEDJOBS_ATTEMPT", "value": "mine"}]},
            {"name": "side", "image": "s", "env": [{"name": "RANK", "value": "7"}]},
        ],
        "affinity": {"podAffinity": {"kept": True}},
    },
}


def test_a_full_template_keeps_what_is_the_users():
    template = made({"template": FULL})["spec"]["template"]
    assert template["metadata"] == {"annotations": {"note": "kept"}, "labels": {"team": "vision", **LABELS}}
    assert template["spec"]["serviceAccountName"] == "trainer"
    main, side = template["spec"]["containers"]
    [fetch] = template["spec"]["initContainers"]
    assert variables(main)["MANAGEDJOBS_ATTEMPT"] == "mine"
    assert [v["name"] for v in main["env"]].count("MANAGEDJOBS_ATTEMPT") == 1
    assert main["env"][-1]["name"] == "MANAGEDJOBS_ATTEMPT", "ours come first, so that the user's can refer to them"
    assert fetch["terminationMessagePolicy"] == "File"
    assert "MANAGEDJOBS_JOB" in variables(fetch)
    assert variables(side)["RANK"] == "7"
    assert not {"MASTER_ADDR", "WORLD_SIZE"} & variables(side).keys(), "who sets one of the three sets all of them"
    assert "WORLD_SIZE" in variables(main)


@pytest.mark.parametrize(
    ("label", "handed_on"),
    [
        ("kueue.x-k8s.io/queue-name", True),
        ("team", True),
        ("app.kubernetes.io/managed-by", False),
        ("argocd.argoproj.io/instance", False),
    ],
)
def test_labels_of_the_managed_job_go_to_the_child_job_only_where_wanted_and_never_to_pods(
    label: str, handed_on: bool
):
    job = made({"image": "i"}, job_labels={label: "x"}, propagate={"team"})
    assert (label in job["metadata"]["labels"]) is handed_on
    assert label not in job["spec"]["template"]["metadata"]["labels"]


def test_a_preferred_node_is_a_wish_beside_the_users():
    affinity = made({"template": FULL}, prefer_node="node-7")["spec"]["template"]["spec"]["affinity"]
    assert affinity["podAffinity"] == {"kept": True}
    [term] = affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["preference"]["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": ["node-7"]}]


def test_the_service_of_a_group_names_its_pods_before_they_are_ready():
    labels = {key: value for key, value in LABELS.items() if key != "managedjobs.dev/attempt"}
    assert peers_service(attempt(4)) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "train-peers",
            "namespace": "team-a",
            "labels": labels,
            "ownerReferences": [OWNER],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"managedjobs.dev/job-uid": "u-1"},
        },
    }
