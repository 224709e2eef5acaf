"""Random histories: whatever happens, in whatever order, the protocol holds and the job comes to an end."""

from collections.abc import Callable
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from managedjobs.core.model import JobSpec, NodeLost, RecoveryPolicy
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase
from tests.core.driving.history import History

Event = Callable[[History], None]

EVENTS: dict[str, Event] = {
    "pod 0 runs": lambda h: h.pod_becomes(0, PodPhase.RUNNING),
    "pod 1 runs": lambda h: h.pod_becomes(1, PodPhase.RUNNING),
    "pod 0 succeeds": lambda h: h.pod_becomes(0, PodPhase.SUCCEEDED, code=0),
    "pod 1 succeeds": lambda h: h.pod_becomes(1, PodPhase.SUCCEEDED, code=0),
    "pod 0 fails": lambda h: h.pod_becomes(0, PodPhase.FAILED, code=1),
    "pod 1 fails with 42": lambda h: h.pod_becomes(1, PodPhase.FAILED, code=42),
    "pod 0 is preempted": lambda h: h.pod_becomes(0, PodPhase.FAILED, code=143, disruption="PreemptionByScheduler"),
    "node 0 falls silent": lambda h: h.node_falls_silent(0),
    "node 0 answers": lambda h: h.silent.clear(),
    "the child Job is deleted": lambda h: h.delete_child(),
    "the child Job is suspended": lambda h: h.suspend_child(),
    "the child Job is resumed": lambda h: h.resume_child(),
    "a launch slot is granted": lambda h: h.grant(),
    "suspend": lambda h: h.change_spec(suspend=True),
    "no longer suspend": lambda h: h.change_spec(suspend=False),
    "the operator resumes": lambda h: h.resume(),
    "cancel": lambda h: h.change_spec(cancel=True),
    "the controller dies": lambda h: h.hand_over(),
    "a second passes": lambda h: h.time_passes(1),
    "a minute passes": lambda h: h.time_passes(60),
    "an hour passes": lambda h: h.time_passes(3600),
    "the job is deleted": lambda h: h.delete_job(),
}

HISTORIES = st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.booleans(), st.booleans()), max_size=25)
SPECS = st.builds(
    JobSpec,
    replicas=st.integers(1, 2),
    recovery=st.builds(
        RecoveryPolicy,
        max_restarts_on_errors=st.integers(0, 2),
        recover_on_exit_codes=st.sampled_from([frozenset(), frozenset({42})]),
        max_launch_attempts=st.sampled_from([None, 2]),
        node_lost=st.builds(NodeLost, relaunch=st.booleans()),
    ),
    active_deadline=st.sampled_from([None, timedelta(seconds=5000)]),
    queue_timeout=st.sampled_from([None, timedelta(seconds=5000)]),
)


def play(spec: JobSpec, events: list[tuple[str, bool, bool]], *, queued: bool = False) -> History:
    """Let these things happen; the controller acts after some of them, with caches that lag in some."""
    history = History(spec, queued)
    history.settle_down(lagging=False)
    for name, acts, lagging in events:
        EVENTS[name](history)
        if acts:
            if not lagging:
                history.sync()
            history.settle_down(lagging=lagging)
    return history


@settings(max_examples=150)
@given(spec=SPECS, events=HISTORIES, queued=st.booleans())
def test_the_protocol_holds_in_every_history(spec: JobSpec, events: list[tuple[str, bool, bool]], queued: bool):
    play(spec, events, queued=queued)


@settings(max_examples=80)
@given(spec=SPECS, events=HISTORIES, queued=st.booleans())
def test_after_every_history_a_cancel_brings_the_job_to_its_end_and_stops_all_pods(
    spec: JobSpec, events: list[tuple[str, bool, bool]], queued: bool
):
    history = play(spec, events, queued=queued)
    history.silent.clear()
    history.change_spec(cancel=True)
    if history.job is not None and history.job.status.state.is_live:
        history.hand_over()
    for _ in range(6):
        history.sync()
        history.settle_down(lagging=False)
        if queued:
            history.resume_child()
        history.time_passes(60)
    if history.job is None:
        assert history.child is None or history.gone
        return
    assert not history.job.status.state.is_live
    assert not any(not pod.ended for pod in history.pods.values())


@settings(max_examples=80)
@given(spec=SPECS, events=HISTORIES, queued=st.booleans())
def test_after_every_history_a_job_that_is_let_run_comes_to_its_end(
    spec: JobSpec, events: list[tuple[str, bool, bool]], queued: bool
):
    history = play(spec, events, queued=queued)
    history.silent.clear()
    history.change_spec(suspend=False)
    for _ in range(12):
        if history.job is None or history.job.status.state is ScheduleState.DONE:
            return
        if history.gone:
            history.hand_over()
        history.sync()
        history.settle_down(lagging=False)
        history.resume_child()
        history.grant()
        history.resume()
        history.end_without_controller()
        for index in range(spec.replicas):
            history.pod_becomes(index, PodPhase.SUCCEEDED, code=0)
        history.time_passes(400)
    state, phase = (history.job.status.state, history.job.status.phase) if history.job else (None, None)
    names = [type(step).__name__ for step in history.steps[-5:]]
    raise AssertionError(f"not finished: {state}, {phase}; the last steps were {names}")


def test_a_whole_uneventful_life_is_three_writes_of_the_controller():
    history = play(
        JobSpec(),
        [("pod 0 runs", True, False), ("a minute passes", True, False), ("pod 0 succeeds", True, False)],
    )
    writes = [step.status.phase for step in history.steps if hasattr(step, "status")]
    assert writes == [Phase.LAUNCHING, Phase.RUNNING, Phase.SUCCEEDED]
