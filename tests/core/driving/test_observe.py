"""How far a launch has come, and what its pods wait for."""

from datetime import timedelta

import pytest

from managedjobs.core.driving.observe import (
    Launch,
    PodsWaiting,
    WaitKind,
    events_due,
    invalid_image,
    lost_nodes,
    nodes_to_ask,
    observe_launch,
    pods_of,
    shorten_scheduler_words,
)
from managedjobs.core.driving.view import Container, Node, Pod, Refusal, RefusalKind
from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from tests.support.driven import NOW, ago, child, driven, failed_pod, pending_pod, pod, view

SETUP_RUNS = Container(name="setup", init=True, running=True)


def observed(*pods: Pod, wanted: int, refusal: Refusal | None = None, done: frozenset[int] = frozenset()) -> Launch:
    return observe_launch(child(completed_indexes=done), tuple(pods), wanted, refusal)


def waiting_for(reason: str, message: str = "") -> Pod:
    container = Container(name="main", waiting_reason=reason, waiting_message=message)
    return pod(0, phase=PodPhase.PENDING, containers=(container,))


@pytest.mark.parametrize(
    ("launch", "up"),
    [
        pytest.param(observed(pod(0), pod(1), wanted=2), True, id="all run"),
        pytest.param(observed(pod(0), pending_pod(1), wanted=2), False, id="one has no node"),
        pytest.param(observed(pod(0), wanted=2), False, id="one is not created"),
        pytest.param(observed(pod(1), wanted=2, done=frozenset({0})), True, id="one has finished and is gone"),
        pytest.param(observed(failed_pod(0), pod(1), wanted=2), True, id="one has failed"),
        pytest.param(
            observed(
                pod(0, phase=PodPhase.PENDING, containers=(Container(name="setup", init=True, running=True),)),
                wanted=1,
            ),
            True,
            id="an init container counts",
        ),
        pytest.param(observed(waiting_for("ContainerCreating"), wanted=1), False, id="no container has started"),
    ],
)
def test_an_attempt_is_up_when_every_index_has_started_some_container_or_finished(launch: Launch, up: bool):
    assert launch.up is up


@pytest.mark.parametrize(
    ("launch", "want", "others_only"),
    [
        pytest.param(
            observed(
                pending_pod(
                    scheduling_reason="Unschedulable",
                    scheduling_message="0/5 nodes are available: 5 Insufficient nvidia.com/gpu. preemption: none.",
                ),
                wanted=1,
            ),
            PodsWaiting(kind=WaitKind.UNSCHEDULABLE, count=1, words="insufficient nvidia.com/gpu (0 of 5 nodes fit)"),
            True,
            id="no room",
        ),
        pytest.param(
            observed(waiting_for("ImagePullBackOff", "Back-off pulling image"), wanted=1),
            PodsWaiting(kind=WaitKind.IMAGE, count=1, words="Back-off pulling image"),
            True,
            id="an image",
        ),
        pytest.param(
            observed(waiting_for("ContainerCreating"), wanted=1),
            PodsWaiting(kind=WaitKind.STARTING, count=1),
            True,
            id="a volume, or whatever the kubelet prepares",
        ),
        pytest.param(
            observed(waiting_for("CreateContainerConfigError", 'secret "keys" not found'), wanted=1),
            PodsWaiting(kind=WaitKind.CONFIG, count=1, words='secret "keys" not found'),
            True,
            id="a missing Secret, which somebody may bring",
        ),
        pytest.param(
            observed(wanted=2, refusal=Refusal(kind=RefusalKind.QUOTA, message="exceeded quota: gpus", attempt=1)),
            PodsWaiting(kind=WaitKind.NOT_CREATED, count=2, words="exceeded quota: gpus"),
            True,
            id="quota",
        ),
        pytest.param(
            observed(wanted=2),
            PodsWaiting(kind=WaitKind.CREATING, count=2),
            False,
            id="pods that nobody has explained yet",
        ),
        pytest.param(
            observed(pending_pod(), wanted=1),
            PodsWaiting(kind=WaitKind.PLACING, count=1),
            False,
            id="a pod that the scheduler has not looked at",
        ),
    ],
)
def test_what_pods_wait_for_is_named_and_counted(launch: Launch, want: PodsWaiting, others_only: bool):
    assert launch.waiting == (want,)
    assert launch.waits_only_for_others is others_only


def test_the_newest_pod_of_an_index_speaks_for_it_and_foreign_pods_do_not():
    old, new = pod(0, age=60), pod(0, age=30)
    foreign = Pod(name="x", uid="x", created=NOW, owner_uid="other-child", index=1)
    assert pods_of(child(), [new, old, foreign]) == (new,)


def test_pods_from_before_a_suspension_say_nothing():
    assert pods_of(child(resumed_at=ago(60)), [failed_pod(0, age=120)]) == ()
    assert len(pods_of(child(resumed_at=ago(60)), [pod(0, age=60)])) == 1


def test_an_impossible_image_name_is_found_in_any_container():
    wrong = waiting_for("InvalidImageName", "couldn't parse")
    found = invalid_image([pod(1), wrong])
    assert found is not None
    assert found[1].name == "main"
    assert invalid_image([pod(1)]) is None


@pytest.mark.parametrize(
    ("message", "want"),
    [
        (
            "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) had untolerated taint {gpu: true}. "
            "preemption: 0/5 nodes are available: 5 No preemption victims found.",
            "insufficient cpu, node(s) had untolerated taint {gpu: true} (0 of 5 nodes fit)",
        ),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
        ("", ""),
    ],
)
def test_the_schedulers_words_are_shortened(message: str, want: str):
    assert shorten_scheduler_words(message) == want


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param([pod(0)], set(), id="a healthy pod"),
        pytest.param([pod(0, ready=False, unready_reason="")], {"node-0"}, id="made unready by the node controller"),
        pytest.param([pod(0, ready=False, unready_reason="ContainersNotReady")], set(), id="unready by its kubelet"),
        pytest.param(
            [pod(0, deletion_asked_at=ago(40), deletion_due_at=ago(10))], {"node-0"}, id="outlives its deletion"
        ),
        pytest.param([pod(0, deletion_asked_at=ago(5), deletion_due_at=ago(-25))], set(), id="within its grace"),
        pytest.param([failed_pod(0, unready_reason="")], set(), id="has ended"),
    ],
)
def test_nodes_are_asked_about_only_when_their_pods_look_lost(pods: list[Pod], want: set[str]):
    assert nodes_to_ask(view(driven(), *pods), NOW) == want


def test_a_node_is_lost_when_it_is_gone_or_silent_for_long():
    nodes = {
        "gone": Node(name="gone", exists=False),
        "long": Node(name="long", unreachable_since=ago(60)),
        "short": Node(name="short", unreachable_since=ago(59)),
        "fine": Node(name="fine"),
    }
    assert lost_nodes(nodes, NOW, timedelta(seconds=60)) == {"gone", "long"}


def test_events_are_read_only_when_pods_are_missing_for_a_while():
    job = driven(ScheduleState.LAUNCHING)
    assert events_due(view(job, child=child(age=10))) == ago(7)
    assert events_due(view(job, pod(0), child=child(age=10))) is None
    assert events_due(view(job, child=child(suspended=True))) is None
    assert events_due(view(job)) is None
