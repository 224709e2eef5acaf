"""Who is admitted: tables for the rules, properties for the promises."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.model import AttemptRecord, CurrentAttempt, Job, JobSpec, JobStatus, Schedule
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.admission import Candidate, Hold, PoolFacts, Usage, admit, grant, hold
from managedjobs.core.scheduling.order import order_key
from managedjobs.core.scheduling.queue_text import Place, waiting_words, with_words
from managedjobs.core.scheduling.usage import Want
from tests.support.jobs import NOW, TERM, ago, make_job, make_pool

LIVE = ScheduleState.ALIVE_WAITING


def candidate(job: Job) -> Candidate:
    want = Want.GRANT if job.status.state.is_live else Want.CLAIM
    return Candidate(order_key(job), job.uid, job.namespace, want)


def plan(facts: PoolFacts, usage: Usage, jobs: list[Job]) -> list[Candidate]:
    line = sorted(candidate(job) for job in jobs)
    return admit(facts, usage, [c for c in line if c.want is Want.CLAIM], [c for c in line if c.want is Want.GRANT])


def told(job: Job, want: Want, place: Place, held: Hold) -> JobStatus:
    return with_words(job.status, waiting_words(job, want, place, held))


def names(admitted: list[Candidate]) -> list[str]:
    return [c.uid for c in admitted]


def job(
    uid: str, state: ScheduleState = ScheduleState.WAITING, *, priority: int = 0, age: float = 60, **more: str
) -> Job:
    return make_job(uid, state, age=age, spec=JobSpec(priority=priority), **more)


def test_the_order_is_priority_then_live_before_new_then_queue_time_then_uid():
    jobs = [
        job("old-new", age=900),
        job("young-new", age=5),
        job("live", LIVE, age=1),
        job("b-same", age=60),
        job("a-same", age=60),
        job("high", priority=5, age=1),
        job("low-live", LIVE, priority=-1, age=999),
    ]
    ordered = [j.uid for j in sorted(jobs, key=order_key)]
    assert ordered == ["high", "live", "old-new", "a-same", "b-same", "young-new", "low-live"]


def test_a_resumed_job_queues_by_the_time_it_was_resumed():
    resumed = make_job("resumed", age=900, schedule=Schedule(queue_time=ago(10)))
    assert order_key(job("other", age=60)) < order_key(resumed)


def test_a_live_job_needs_no_run_slot_so_a_full_pool_still_recovers():
    jobs = [job("new", priority=9), job("live", LIVE)]
    assert names(plan(make_pool(8, 22), Usage(run=22), jobs)) == ["live"]


def test_new_jobs_stop_at_the_run_limit_and_live_ones_take_what_is_left():
    jobs = [job("new-1", priority=3), job("new-2", priority=2), job("live", LIVE, priority=1)]
    assert names(plan(make_pool(8, 22), Usage(run=21), jobs)) == ["new-1", "live"]


def test_a_paused_pool_admits_nothing_new_and_lets_live_jobs_recover():
    jobs = [job("new"), job("live", LIVE)]
    assert names(plan(make_pool(paused=True), Usage(), jobs)) == ["live"]


def test_a_pool_whose_controller_pods_find_no_node_admits_nothing_new():
    jobs = [job("new"), job("live", LIVE)]
    assert names(plan(make_pool(has_room=False), Usage(), jobs)) == ["live"]


def test_a_missing_pool_holds_everybody():
    facts = PoolFacts(name="gone", spec=None, limits=None)
    assert plan(facts, Usage(), [job("new"), job("live", LIVE)]) == []


def test_a_namespace_at_its_cap_is_skipped_and_blocks_nobody():
    facts = make_pool(max_running_per_namespace=1)
    jobs = [job("a-1"), job("a-2"), job("b-1", namespace="team-b")]
    usage = Usage(run=1, run_by_namespace={"team-a": 1})
    assert names(plan(facts, usage, jobs)) == ["b-1"]


def test_the_run_cap_of_a_namespace_does_not_stop_its_recoveries():
    facts = make_pool(max_running_per_namespace=1)
    usage = Usage(run=1, run_by_namespace={"team-a": 1})
    assert names(plan(facts, usage, [job("live", LIVE)])) == ["live"]


@pytest.mark.parametrize(
    ("facts", "usage", "want", "reason", "text"),
    [
        (
            PoolFacts(name="gpu", spec=None, limits=None),
            Usage(),
            Want.CLAIM,
            Reason.POOL_NOT_FOUND,
            "gpu does not exist",
        ),
        (make_pool(paused=True), Usage(), Want.CLAIM, Reason.POOL_PAUSED, "the pool is paused"),
        (make_pool(0, 0), Usage(), Want.CLAIM, Reason.POOL_WITHOUT_NODES, "the pool has no nodes: none is ready"),
        (make_pool(has_room=False), Usage(), Want.CLAIM, Reason.CAPACITY_UNAVAILABLE, "can't be scheduled"),
        (
            make_pool(8, 22),
            Usage(run=22, parked=4),
            Want.CLAIM,
            Reason.WAITING_FOR_RUN_SLOT,
            "all 22 run slots are in use (4 parked)",
        ),
        (
            make_pool(8, 22),
            Usage(launch=8),
            Want.CLAIM,
            Reason.WAITING_FOR_LAUNCH_SLOT,
            "all 8 launch slots are in use",
        ),
        (make_pool(8, 22), Usage(launch=8, run=22), Want.GRANT, Reason.WAITING_FOR_LAUNCH_SLOT, "all 8 launch slots"),
        (
            make_pool(1, 22),
            Usage(launch=1),
            Want.CLAIM,
            Reason.WAITING_FOR_LAUNCH_SLOT,
            "the only launch slot is in use",
        ),
        (
            make_pool(max_launching_per_namespace=2),
            Usage(launch=2, launch_by_namespace={"team-a": 2}),
            Want.CLAIM,
            Reason.NAMESPACE_AT_CAP,
            "namespace team-a has as many slots",
        ),
    ],
    ids=["missing", "paused", "nodeless", "no room", "run", "launch", "grant", "one", "cap"],
)
def test_a_waiting_job_says_what_it_waits_for(facts: PoolFacts, usage: Usage, want: Want, reason: Reason, text: str):
    held = hold(facts, usage, "team-a", want)
    assert held.reason is reason
    assert text in held.text


def test_the_text_of_a_waiting_job_has_its_place_and_what_it_waits_for():
    held = hold(make_pool(8, 22), Usage(launch=8), "team-a", Want.CLAIM)
    status = told(job("j"), Want.CLAIM, Place(number=12, total=40), held)
    assert status.description == "Waiting: 12th of 40 in pool default; all 8 launch slots are in use."
    assert (status.reason, status.schedule.position) == ("WaitingForLaunchSlot", 12)


def test_the_text_says_how_many_are_parked_and_how_many_of_higher_priority_are_ahead():
    held = hold(make_pool(8, 22), Usage(run=22, parked=4), "team-a", Want.CLAIM)
    status = told(job("j"), Want.CLAIM, Place(number=3, total=9, higher=5), held)
    assert status.description == (
        "Waiting: 3rd of 9 in pool default; all 22 run slots are in use (4 parked), "
        "5 jobs of higher priority are ahead."
    )


def test_far_back_no_place_is_shown():
    held = hold(make_pool(8, 22), Usage(launch=8), "team-a", Want.CLAIM)
    status = told(job("j"), Want.CLAIM, Place(number=None, total=400), held)
    assert status.description == "Waiting: more than 100 ahead in pool default; all 8 launch slots are in use."
    assert status.schedule.position is None


def test_a_live_job_keeps_its_cause_in_front_of_its_place():
    held = hold(make_pool(8, 22), Usage(launch=8), "team-a", Want.GRANT)
    cause = "Recovering: pod 2 was preempted on node gpu-7 (attempt 3)."
    lost = make_job(state=LIVE, description=f"{cause} Waiting for a launch slot.", reason="Recovering")
    status = told(lost, Want.GRANT, Place(number=1, total=4), held)
    assert status.description == f"{cause} Waiting for a launch slot, 1st in line."
    assert status.reason == "Recovering"


def test_a_grant_opens_the_next_attempt():
    before = make_job(
        state=LIVE,
        fence="pod-1",
        current_attempt=CurrentAttempt(number=2, job_uid="child"),
        attempts=tuple(AttemptRecord(number=n, end_time=NOW, ending="Preempted") for n in range(1, 3)),
        attempt_count=2,
        recovery_count=1,
    )
    after = grant(before, TERM, NOW).status
    assert (after.state, after.phase, after.schedule.leader_term) == (ScheduleState.LAUNCHING, Phase.RECOVERING, TERM)
    assert after.current_attempt == CurrentAttempt(number=3, job_name="job-1", start_time=NOW)
    assert [(a.number, a.ending) for a in after.attempts] == [(1, "Preempted"), (2, "Preempted"), (3, None)]
    assert (after.attempt_count, after.recovery_count, after.fence) == (3, 2, "pod-1")


def test_only_the_newest_ten_attempts_are_kept():
    many = tuple(AttemptRecord(number=n) for n in range(21, 31))
    before = make_job(
        state=LIVE, fence="p", current_attempt=CurrentAttempt(number=30), attempts=many, attempt_count=30
    )
    after = grant(before, TERM, NOW).status
    assert [a.number for a in after.attempts] == list(range(22, 32))


jobs_in_line = st.lists(
    st.tuples(
        st.sampled_from([ScheduleState.WAITING, LIVE]),
        st.integers(-2, 2),
        st.integers(0, 4),
        st.sampled_from(["team-a", "team-b"]),
    ),
    max_size=14,
).map(
    lambda rows: [
        job(f"j{n}", state, priority=priority, age=age, namespace=namespace)
        for n, (state, priority, age, namespace) in enumerate(rows)
    ]
)
pools = st.builds(
    make_pool,
    st.integers(1, 5),
    st.integers(1, 5),
    has_room=st.booleans(),
    paused=st.booleans(),
    max_launching_per_namespace=st.none() | st.integers(1, 3),
    max_running_per_namespace=st.none() | st.integers(1, 3),
)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Live jobs of two namespaces, of which some launch; a shrunken pool may hold more than its limits."""
    run = Counter({name: draw(st.integers(0, 3)) for name in ("team-a", "team-b")})
    launch = Counter({name: draw(st.integers(0, run[name])) for name in run})
    return Usage(launch=launch.total(), run=run.total(), launch_by_namespace=launch, run_by_namespace=run)


def applied(usage: Usage, admitted: list[Candidate]) -> Usage:
    launch, run = Counter(usage.launch_by_namespace), Counter(usage.run_by_namespace)
    for one in admitted:
        launch[one.namespace] += 1
        run[one.namespace] += one.want is Want.CLAIM
    return Usage(launch=launch.total(), run=run.total(), launch_by_namespace=launch, run_by_namespace=run)


@given(pools, usages(), jobs_in_line)
def test_a_plan_never_goes_above_a_limit(facts: PoolFacts, usage: Usage, jobs: list[Job]):
    assert facts.limits is not None
    assert facts.spec is not None
    admitted = plan(facts, usage, jobs)
    after = applied(usage, admitted)
    assert after.launch <= max(facts.limits.launch, usage.launch)
    assert after.run <= max(facts.limits.run, usage.run)
    for one in admitted:
        cap = facts.spec.max_launching_per_namespace
        assert cap is None or after.launch_by_namespace[one.namespace] <= cap
        cap = facts.spec.max_running_per_namespace
        assert one.want is Want.GRANT or cap is None or after.run_by_namespace[one.namespace] <= cap


@given(pools, usages(), jobs_in_line, st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(facts: PoolFacts, usage: Usage, jobs: list[Job], random):  # noqa: ANN001 -- hypothesis' own Random
    shuffled = list(jobs)
    random.shuffle(shuffled)
    assert plan(facts, usage, shuffled) == plan(facts, usage, jobs)


@given(pools, usages(), jobs_in_line)
def test_planning_again_after_applying_gives_nothing(facts: PoolFacts, usage: Usage, jobs: list[Job]):
    admitted = plan(facts, usage, jobs)
    left = [j for j in jobs if j.uid not in names(admitted)]
    assert plan(facts, applied(usage, admitted), left) == []


@given(pools, usages(), jobs_in_line)
def test_nobody_is_passed_over_by_a_lower_one_that_needs_the_same_slot(
    facts: PoolFacts, usage: Usage, jobs: list[Job]
):
    assert facts.spec is not None
    admitted = plan(facts, usage, jobs)
    after = applied(usage, admitted)
    launch_cap, run_cap = facts.spec.max_launching_per_namespace, facts.spec.max_running_per_namespace
    for held in (candidate(j) for j in jobs if j.uid not in names(admitted)):
        if launch_cap is not None and after.launch_by_namespace[held.namespace] >= launch_cap:
            continue
        if held.want is Want.CLAIM and run_cap is not None and after.run_by_namespace[held.namespace] >= run_cap:
            continue
        assert all(one.order < held.order for one in admitted if one.want is held.want)


@given(pools, usages(), jobs_in_line)
def test_every_job_that_waits_has_a_reason_and_a_sentence(facts: PoolFacts, usage: Usage, jobs: list[Job]):
    admitted = plan(facts, usage, jobs)
    after = applied(usage, admitted)
    for waiting in (j for j in jobs if j.uid not in names(admitted)):
        want = candidate(waiting).want
        status = told(waiting, want, Place(number=1, total=1), hold(facts, after, waiting.namespace, want))
        assert status.description.endswith(".")
        assert status.reason != Reason.QUEUED or want is Want.GRANT


def test_a_far_longer_line_is_not_read_further_than_needed():
    def endless():
        for n in range(10**9):
            yield candidate(make_job(f"j{n:09}", age=10**6 - n if n < 10**6 else 0))

    admitted = admit(make_pool(3, 9), Usage(), endless(), ())
    assert names(admitted) == ["j000000000", "j000000001", "j000000002"]
