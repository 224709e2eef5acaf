"""The operator's real decisions among late, lost and repeated requests, kills, restarts and impatient users."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.view import OperatorView
from managedjobs.scheduler.store import Store
from tests.scheduler.protocol_parts import OLD, Violation
from tests.scheduler.protocol_world import World

Step = Callable[[], None]
NAMES = ("a", "b", "c")


def ordinary_steps(world: World) -> list[Step]:
    """What happens without anybody's fault."""
    steps: list[Step] = [world.look]
    steps += [lambda n=n: world.deliver_job_event(n) for n in range(min(2, len(world.job_events)))]
    if world.pod_events:
        steps.append(world.deliver_pod_event)
    steps += [lambda request=request: world.deliver(request) for request in world.requests[:4]]
    busy = {request.sender for request in world.requests}
    steps += [
        lambda pod=pod: world.act(pod)
        for pod in world.pods.values()
        if pod.uid in world.running and pod.uid not in busy
    ]
    steps += [lambda name=name: world.make(name) for name in NAMES if name not in world.jobs]
    return steps


def faults(world: World) -> list[Step]:
    """What goes wrong, and what users do."""
    steps: list[Step] = [lambda: world.pass_time(1), lambda: world.pass_time(OLD), lambda: restart(world)]
    steps.append(world.toggle_node)
    steps += [lambda request=request: world.deliver(request, lose_answer=True) for request in world.requests[:2]]
    for pod in list(world.pods.values()):
        if pod.uid in world.running:
            steps.append(lambda pod=pod: world.end_pod(pod, PodPhase.FAILED))
        steps.append(lambda pod=pod: world.remove_pod(pod.uid))
    for job in list(world.jobs.values()):
        if job.status.state is not ScheduleState.DONE:
            steps.append(lambda name=job.name: world.respec(name, cancel=True))
            steps.append(lambda job=job: world.respec(job.name, suspend=not job.spec.suspend))
        steps.append(lambda name=job.name: world.delete(name))
    return steps


def restart(world: World) -> None:
    """Another operator takes the Lease.

    What the program of a removed pod has sent does not arrive after that: the residual of DESIGN 3.3.
    """
    present = {pod.uid for pod in world.pods.values()}
    world.requests = [r for r in world.requests if r.sender in present or r.sender.startswith("operator/")]
    world.term += 1
    world.start_operator()


def run(choices: list[int], faults_allowed: int) -> World:
    world = World()
    for choice in choices:
        steps = ordinary_steps(world)
        if faults_allowed and choice % 7 == 0:
            steps = faults(world)
            faults_allowed -= 1
        steps[choice // 7 % len(steps)]()
    return world


def settle_down(world: World) -> None:
    """No more faults: everything arrives, and time goes on."""
    if world.node_lost_since is not None:
        world.toggle_node()
    for job in list(world.jobs.values()):
        if job.spec.suspend and job.status.state is not ScheduleState.DONE:
            world.respec(job.name, suspend=False)
    for _ in range(400):
        let_all_arrive(world)
        if not world.pods and all(job.status.state is ScheduleState.DONE for job in world.jobs.values()):
            return


def let_all_arrive(world: World) -> None:
    while world.job_events:
        world.deliver_job_event()
    while world.pod_events:
        world.deliver_pod_event()
    world.look()
    while world.requests:
        world.deliver(world.requests[0])
    for pod in list(world.pods.values()):
        if pod.uid in world.running:
            world.act(pod)
    world.pass_time(3)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, 7 * 60), min_size=20, max_size=120), st.integers(0, 8))
def test_no_limit_is_ever_passed_and_every_job_comes_to_its_end(choices: list[int], faults_allowed: int):
    world = run(choices, faults_allowed)
    settle_down(world)
    states = {job.name: (job.status.state, job.status.fence) for job in world.jobs.values()}
    assert all(state is ScheduleState.DONE for state, _ in states.values()), states
    assert not world.pods


BROKEN_RULES = {
    "a claim holds no slot before its pod is seen": ("claims", lambda _view: ()),
    "a pod that vanished is forgotten": ("note_vanished", lambda *_args: None),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_the_world_finds_a_broken_rule(rule: str, monkeypatch: pytest.MonkeyPatch):
    """The test above can fail: without a rule of the protocol some run passes a limit or gets stuck."""
    name, broken = BROKEN_RULES[rule]
    owner = Store if name == "note_vanished" else OperatorView
    monkeypatch.setattr(owner, name, broken)

    def fails() -> bool:
        draw = random.Random(1)
        for _ in range(400):
            choices = [draw.randrange(7 * 60) for _ in range(100)]
            try:
                run(choices, 6)
            except Violation:
                return True
        return False

    assert fails()
