"""The store: newer versions win, what is gone stays gone, and every line is what its jobs make it."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from managedjobs.core.model import Job, JobSpec
from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.usage import Want, standing
from managedjobs.core.scheduling.view import ExpectedPod
from managedjobs.scheduler.store import Store
from tests.support.jobs import NOW, make_job, make_pod


def version(job: Job, number: int) -> Job:
    return replace(job, resource_version=str(number))


def test_a_newer_version_wins_whatever_the_order_of_arrival():
    store = Store()
    assert store.put_job(version(make_job(), 9), NOW)
    assert not store.put_job(version(make_job(state=ScheduleState.ALIVE), 8), NOW)
    assert store.put_job(version(make_job(state=ScheduleState.LAUNCHING), 10), NOW)  # 10 > 9, not "10" < "9"
    assert store.jobs["job-1"].status.state is ScheduleState.LAUNCHING


def test_a_late_event_does_not_bring_a_deleted_job_back():
    store = Store()
    store.put_job(version(make_job(), 5), NOW)
    store.remove_job("job-1", NOW)
    assert not store.put_job(version(make_job(), 6), NOW)
    assert store.view("job-1") is None
    assert not store.lines


def test_a_deletion_that_comes_first_is_remembered():
    store = Store()
    store.remove_job("job-1", NOW)
    assert not store.put_job(make_job(), NOW)


def test_a_job_made_anew_under_its_name_takes_the_place_of_the_old_one():
    store = Store()
    old = make_job("u1", age=100)
    new = replace(make_job("u2", age=1), name="u1", resource_version="200")
    store.put_job(old, NOW)
    store.put_job(new, NOW)
    assert store.job_at(old.key) == new
    assert list(store.jobs) == ["u2"]
    assert not store.put_job(version(old, 300), NOW)


def test_what_is_missing_in_a_list_is_gone_unless_it_is_newer_or_unreadable():
    store = Store()
    jobs = {name: version(make_job(name), number) for name, number in (("a", 10), ("b", 11), ("new", 60), ("odd", 12))}
    for job in jobs.values():
        store.put_job(job, NOW)
    other = make_job("elsewhere", namespace="team-b")
    store.put_job(other, NOW)
    differing = store.listed_jobs([jobs["a"]], [jobs["odd"].key], "50", "team-a", NOW)
    assert differing == ["b"]
    assert set(store.jobs) == {"a", "new", "odd", "elsewhere"}


def test_the_pods_of_a_deleted_job_are_known_until_they_are_gone_and_hold_their_run_slot():
    store = Store()
    store.put_job(make_job(), NOW)
    pod = make_pod()
    store.change_pod(None, pod, NOW)
    store.remove_job("job-1", NOW)
    view = store.view("job-1")
    assert view is not None
    assert (view.job, view.absent_since, view.key) == (None, NOW, make_job().key)
    assert store.line("default").usage().run == 1
    store.change_pod(pod, None, NOW)
    assert store.view("job-1") is None
    assert not store.lines


def test_a_claim_whose_pod_goes_keeps_its_slots_until_the_fence_has_moved():
    store = Store()
    store.put_job(make_job(), NOW)
    pod = make_pod()
    store.change_pod(None, pod, NOW)
    store.change_pod(pod, None, NOW)
    assert (store.line("default").usage().launch, store.line("default").waiting) == (1, 0)
    store.put_job(version(make_job(fence="revoked:pod-1"), 101), NOW)
    assert (store.line("default").usage().launch, store.line("default").waiting) == (0, 1)


def test_the_pod_of_a_live_job_that_goes_is_no_claim():
    store = Store()
    store.put_job(make_job(state=ScheduleState.ALIVE, fence="pod-1"), NOW)
    pod = make_pod(phase=PodPhase.RUNNING)
    store.change_pod(None, pod, NOW)
    store.change_pod(pod, None, NOW)
    view = store.view("job-1")
    assert view is not None
    assert (view.vanished, view.uncontrolled_since) == ((), NOW)


def test_a_slot_that_is_being_granted_is_in_use_before_the_answer():
    store = Store()
    store.put_job(make_job(state=ScheduleState.ALIVE_WAITING, fence="pod-1"), NOW)
    store.change_pod(None, make_pod(phase=PodPhase.RUNNING), NOW)
    line = store.line("default")
    assert (line.usage().launch, line.waiting) == (0, 1)
    store.set_granting("job-1", granting=True, now=NOW)
    assert (line.usage().launch, line.waiting) == (1, 0)
    store.set_granting("job-1", granting=False, now=NOW)
    assert (line.usage().launch, line.waiting) == (0, 1)


def test_a_deletion_that_was_asked_for_is_remembered_when_the_pod_changes():
    store = Store()
    store.put_job(make_job(), NOW)
    pod = make_pod()
    store.change_pod(None, pod, NOW)
    store.ask_deletion(pod, NOW)
    store.change_pod(pod, replace(pod, deletion_time=NOW), NOW)
    view = store.view("job-1")
    assert view is not None
    assert view.pods[0].delete_asked == NOW


def test_a_job_that_was_told_nothing_is_first_to_be_told():
    store = Store()
    store.put_job(make_job("a"), NOW)
    store.put_job(make_job("b"), NOW)
    assert list(store.line("default").untold) == ["a", "b"]
    store.put_job(version(make_job("a", reason="WaitingForRunSlot"), 101), NOW)
    assert list(store.line("default").untold) == ["b"]
    store.change_pod(None, make_pod("p", job="b"), NOW)
    assert list(store.line("default").untold) == []


def test_a_node_that_is_lost_makes_its_jobs_dirty():
    store = Store()
    store.put_job(make_job(state=ScheduleState.ALIVE, fence="pod-1"), NOW)
    store.change_pod(None, make_pod(phase=PodPhase.RUNNING), NOW)
    store.dirty.clear()
    store.fleet.unready_since["node-1"] = NOW
    store.node_changed("node-2", NOW)
    assert not store.dirty
    store.node_changed("node-1", NOW)
    assert list(store.dirty) == ["job-1"]
    view = store.view("job-1")
    assert view is not None
    assert view.uncontrolled_since == NOW


UIDS = ("a", "b", "c")
put_jobs = st.builds(
    lambda uid, state, priority, fence, namespace: make_job(
        uid, state, fence=fence, namespace=namespace, spec=JobSpec(priority=priority, pool=f"pool-{priority % 2}")
    ),
    st.sampled_from(UIDS),
    st.sampled_from(list(ScheduleState)),
    st.integers(0, 3),
    st.sampled_from(["", "p1", "p2"]),
    st.just("team-a"),
)
pods = st.builds(
    lambda uid, job, predecessor, phase, unschedulable: replace(
        make_pod(uid, job=job, predecessor=predecessor, phase=phase, unschedulable=unschedulable), pool="pool-0"
    ),
    st.sampled_from(["p1", "p2", "p3"]),
    st.sampled_from(UIDS),
    st.sampled_from(["", "p1"]),
    st.sampled_from(list(PodPhase)),
    st.none() | st.just("no node"),
)
steps = st.one_of(
    st.tuples(st.just("put"), put_jobs),
    st.tuples(st.just("remove"), st.sampled_from(UIDS)),
    st.tuples(st.just("pod"), pods),
    st.tuples(st.just("pod gone"), pods),
    st.tuples(st.just("expect"), st.sampled_from(UIDS)),
    st.tuples(st.just("answer"), st.sampled_from(UIDS)),
    st.tuples(st.just("granting"), st.sampled_from(UIDS)),
    st.tuples(st.just("granted"), st.sampled_from(UIDS)),
)


def apply(store: Store, known: dict[str, ControllerPod], number: int, what: str, value: object) -> None:
    now = NOW + timedelta(seconds=number)
    if isinstance(value, Job):
        store.put_job(version(value, 1000 + number), now)
    elif isinstance(value, ControllerPod):
        key = f"{value.job_uid}/{value.uid}"
        if what == "pod":
            store.change_pod(known.get(key), value, now)
            known[key] = value
        elif key in known:
            store.change_pod(known.pop(key), None, now)
    elif isinstance(value, str):
        match what:
            case "remove":
                store.remove_job(value, now)
            case "expect" | "answer":
                store.expect(value, ExpectedPod(name="n", predecessor="") if what == "expect" else None, now)
            case _:
                store.set_granting(value, granting=what == "granting", now=now)


@settings(max_examples=150)
@given(st.lists(steps, max_size=25))
def test_the_counts_of_a_line_are_those_of_its_jobs(sequence: list[tuple[str, object]]):
    store = Store()
    known: dict[str, ControllerPod] = {}
    granting: set[str] = set()
    for number, (what, value) in enumerate(sequence):
        apply(store, known, number, what, value)
        if isinstance(value, str) and what in ("granting", "granted"):
            (granting.add if what == "granting" else granting.discard)(value)
    launch, run, waiting = Counter(), Counter(), Counter()
    for uid in store.all_uids():
        view = store.view(uid)
        held = standing(view) if view is not None else None
        if held is None:
            continue
        launch[held.pool] += held.launch or uid in granting
        run[held.pool] += held.run
        waiting[held.pool] += held.want is not None and uid not in granting
    for name in ("pool-0", "pool-1"):
        line = store.lines.get(name)
        usage = line.usage() if line is not None else None
        assert (usage.launch if usage else 0) == launch[name]
        assert (usage.run if usage else 0) == run[name]
        assert (line.waiting if line is not None else 0) == waiting[name]
        ordered = list(line.in_order()) if line is not None else []
        assert ordered == sorted(ordered)
        assert {candidate.want for candidate in ordered} <= set(Want)


def test_a_job_costs_little_memory():
    count = 2000
    tracemalloc.start()
    try:
        store = Store()
        for number in range(count):
            store.put_job(make_job(f"job-{number}"), NOW)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / count < 4096
