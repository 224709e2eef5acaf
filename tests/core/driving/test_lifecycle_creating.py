"""Launching, before there is a child Job: the name must be free first."""

from dataclasses import replace
from datetime import timedelta

import pytest

from managedjobs.core.driving.steps import (
    CreateChildJob,
    CreateService,
    DeleteChildJob,
    Look,
    Step,
    Wait,
)
from managedjobs.core.driving.view import (
    ChildJob,
    Pod,
    Refusal,
    RefusalKind,
    Service,
)
from managedjobs.core.endings import Ending
from managedjobs.core.model import JobSpec, RecoveryPolicy
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from tests.support.driven import JOB_UID, NOW, ago, child, driven, failed_pod, pod
from tests.support.driving import decided, outcome, written

LAUNCHING = driven(ScheduleState.LAUNCHING, started=10)


def test_an_attempt_is_created_only_after_a_live_look():
    assert decided(LAUNCHING, fresh=False) == Look()
    assert decided(LAUNCHING) == CreateChildJob(attempt=1)


def test_a_group_gets_its_service_first():
    group = driven(ScheduleState.LAUNCHING, spec=JobSpec(replicas=2), started=10)
    assert decided(group) == CreateService()
    assert decided(group, service=Service(name="train-peers", owner_uid=JOB_UID)) == CreateChildJob(attempt=1)
    taken = written(group, service=Service(name="train-peers", owner_uid="x"))
    assert outcome(taken)[2:] == (Reason.NAME_TAKEN, Ending.NAME_TAKEN)
    assert "Service train-peers" in taken.status.description


def test_the_strategy_same_node_first_prefers_the_node_of_the_attempt_before():
    spec = JobSpec(recovery=RecoveryPolicy(strategy="SameNodeFirst"))
    job = driven(ScheduleState.LAUNCHING, spec=spec, attempt=2, started=10)
    before = replace(job.status.attempts[0], number=1, ending=Ending.EVICTED, node_name="node-7")
    job = replace(job, status=replace(job.status, attempts=(before, *job.status.attempts)))
    assert decided(job) == CreateChildJob(attempt=2, prefer_node="node-7")


@pytest.mark.parametrize(
    ("blocker", "want"),
    [
        pytest.param(child(0, uid="old"), DeleteChildJob(uid="old"), id="a child Job of an earlier attempt"),
        pytest.param(child(None, uid="old"), DeleteChildJob(uid="old"), id="a child Job of ours without a number"),
        pytest.param(child(2), Wait(), id="a child Job of a later attempt: this status is old news"),
    ],
)
def test_child_jobs_of_other_attempts_are_cleared_away_by_uid(blocker: ChildJob, want: Step):
    assert decided(LAUNCHING, child=blocker) == want


def test_a_status_that_may_be_old_news_is_read_again_before_anything_is_deleted():
    assert decided(LAUNCHING, child=child(2), fresh=False) == Look()


@pytest.mark.parametrize(
    ("blocker", "pods", "reason", "words"),
    [
        pytest.param(child(0, deleting=True), [], Reason.LAUNCHING, "still ending", id="our old child Job ends"),
        pytest.param(
            None,
            [pod(0, deletion_asked_at=ago(3), deletion_due_at=ago(-27))],
            Reason.LAUNCHING,
            "still ending",
            id="our old pods end",
        ),
        pytest.param(
            child(owner_uid="x", job_uid="x"), [], Reason.PREDECESSOR_ENDING, "earlier job", id="a predecessor's Job"
        ),
        pytest.param(
            None,
            [replace(pod(0), job_uid="x", name="stray")],
            Reason.PREDECESSOR_ENDING,
            "pod stray",
            id="a predecessor's pod",
        ),
    ],
)
def test_what_still_ends_is_waited_for_and_said(blocker: ChildJob | None, pods: list[Pod], reason: Reason, words: str):
    step = written(LAUNCHING, *pods, child=blocker)
    assert step.text_only
    assert (step.status.reason, step.status.state) == (reason, ScheduleState.LAUNCHING)
    assert words in step.status.description
    said = replace(LAUNCHING, status=step.status)
    assert isinstance(decided(said, *pods, child=blocker), Wait)


def test_finished_pods_that_somebody_kept_do_not_hold_a_job_up():
    assert decided(LAUNCHING, failed_pod(0)) == CreateChildJob(attempt=1)


def test_a_foreign_job_of_the_name_is_an_ending_that_backs_off():
    foreign = child(owner_uid=None, owner_is_managed_job=False, job_uid="")
    assert decided(LAUNCHING, child=foreign, fresh=False) == Look()
    step = written(LAUNCHING, child=foreign)
    assert outcome(step) == (ScheduleState.ALIVE_BACKOFF, Phase.RECOVERING, Reason.NAME_TAKEN, Ending.NAME_TAKEN)
    assert "a Job train that is not ours" in step.status.description
    assert step.status.schedule.next_retry_time == NOW + timedelta(seconds=60)


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (RefusalKind.INVALID, (ScheduleState.DONE, Phase.FAILED, Reason.INVALID_TEMPLATE, Ending.INVALID_TEMPLATE)),
        (RefusalKind.NOT_ALLOWED, (ScheduleState.DONE, Phase.FAILED, Reason.NOT_ALLOWED, Ending.NOT_ALLOWED)),
        (
            RefusalKind.NAMESPACE_TERMINATING,
            (ScheduleState.DONE, Phase.FAILED, Reason.NAMESPACE_TERMINATING, Ending.NAMESPACE_TERMINATING),
        ),
        (
            RefusalKind.QUOTA,
            (ScheduleState.ALIVE_BACKOFF, Phase.RECOVERING, Reason.BACKOFF, Ending.QUOTA_EXCEEDED),
        ),
    ],
)
def test_a_refused_create_ends_the_job_or_the_attempt_and_is_quoted(kind: RefusalKind, want: tuple[str, ...]):
    refusal = Refusal(kind=kind, message="the server's words", attempt=1)
    assert decided(LAUNCHING, refusal=refusal, fresh=False) == Look()
    step = written(LAUNCHING, refusal=refusal)
    assert outcome(step) == want
    if kind is not RefusalKind.NAMESPACE_TERMINATING:
        assert "the server's words" in step.status.description


def test_a_refusal_of_an_earlier_attempt_is_forgotten():
    refusal = Refusal(kind=RefusalKind.INVALID, message="x", attempt=7)
    assert decided(LAUNCHING, refusal=refusal) == CreateChildJob(attempt=1)


def test_what_the_server_could_not_do_at_the_moment_is_said_and_tried_again():
    busy = Refusal(kind=RefusalKind.TEMPORARY, message="webhook away", attempt=1, retry_at=NOW + timedelta(seconds=3))
    step = written(LAUNCHING, refusal=busy)
    assert "webhook away" in step.status.description
    said = replace(LAUNCHING, status=step.status)
    assert decided(said, refusal=busy) == Wait(NOW + timedelta(seconds=3))
    assert decided(said, refusal=replace(busy, retry_at=NOW)) == CreateChildJob(attempt=1)
