"""A status that is rendered and parsed again is the same value; a patch carries just the difference."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.api.parse import MalformedObjectError, job_from_object, parse_job
from managedjobs.api.render import Json, merge_patch, render_status, status_patch
from managedjobs.api.wire import ManagedJobWire
from managedjobs.core.model import (
    AttemptRecord,
    Condition,
    ControllerRef,
    CurrentAttempt,
    Job,
    JobStatus,
    Schedule,
)
from managedjobs.core.phases import Phase, ScheduleState

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
moments = st.none() | st.integers(min_value=0, max_value=10**8).map(lambda s: EPOCH + timedelta(seconds=s))
words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)
maybe_words = st.none() | words
numbers = st.integers(min_value=0, max_value=1000)
statuses = st.builds(
    JobStatus,
    phase=st.sampled_from(Phase),
    reason=words,
    description=st.text(max_size=40),
    observed_generation=st.none() | numbers,
    conditions=st.lists(
        st.builds(
            Condition, type=words, status=words, reason=words, message=words, last_transition_time=moments,
            observed_generation=st.none() | numbers,
        ),
        max_size=3,
    ).map(tuple),
    schedule=st.builds(
        Schedule, state=st.sampled_from(ScheduleState), position=st.none() | numbers, queue_time=moments,
        next_retry_time=moments, leader_term=st.none() | numbers,
    ),
    controller=st.none()
    | st.builds(
        ControllerRef, pod_uid=words, pod_name=maybe_words, node_name=maybe_words, version=maybe_words,
        failures=numbers, last_failure_time=moments,
    ),
    current_attempt=st.none()
    | st.builds(
        CurrentAttempt, number=numbers, job_name=maybe_words, job_uid=maybe_words, start_time=moments,
        up_time=moments, pods_ready=numbers, pods_wanted=numbers,
    ),
    attempts=st.lists(
        st.builds(
            AttemptRecord, number=numbers, start_time=moments, end_time=moments, ending=maybe_words,
            exit_code=st.none() | numbers, node_name=maybe_words, job_name=maybe_words, message=maybe_words,
        ),
        max_size=3,
    ).map(tuple),
    attempt_count=numbers,
    failure_count=numbers,
    recovery_count=numbers,
    launch_failure_count=numbers,
    start_time=moments,
    first_up_time=moments,
    completion_time=moments,
    running_seconds=numbers,
    exit_code=st.none() | numbers,
    logs=maybe_words,
)  # fmt: skip


statuses = statuses.filter(lambda s: s.phase.is_finished is (s.state is ScheduleState.DONE))  # the others can't be


def job_with(status: JobStatus) -> Job:
    return Job(namespace="ns", name="job", uid="u1", resource_version="41", created=EPOCH, status=status)


def object_with(status: JobStatus) -> dict[str, object]:
    return {
        "metadata": {
            "namespace": "ns", "name": "job", "uid": "u1", "resourceVersion": "41",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {},
        "status": render_status(status),
    }  # fmt: skip


def applied(target: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    """RFC 7386, as the API server applies it."""
    out = dict(target)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            before = out.get(key)
            out[key] = applied(before if isinstance(before, dict) else {}, value)
        else:
            out[key] = value
    return out


@given(statuses)
def test_a_rendered_status_parses_to_the_same_value(status: JobStatus):
    assert job_from_object(object_with(status)).status == status


@given(statuses)
def test_bytes_and_decoded_objects_parse_alike(status: JobStatus):
    body = object_with(status)
    from_bytes = parse_job(msgspec.json.decode(json.dumps(body), type=ManagedJobWire))
    assert from_bytes == job_from_object(body)


@given(statuses, statuses)
def test_the_patch_turns_one_status_into_the_other(old: JobStatus, new: JobStatus):
    before, after = render_status(old), render_status(new)
    assert applied(before, merge_patch(before, after)) == after


@given(statuses, statuses)
def test_a_patch_carries_the_version_it_was_decided_on(old: JobStatus, new: JobStatus):
    patch = status_patch(job_with(old), new)
    if render_status(old) == render_status(new):
        assert patch is None
    else:
        assert patch is not None
        assert patch["metadata"] == {"resourceVersion": "41"}


def test_a_patch_carries_nothing_that_did_not_change():
    old = JobStatus(description="one", attempt_count=2)
    assert status_patch(job_with(old), replace(old, description="two")) == {
        "metadata": {"resourceVersion": "41"},
        "status": {"description": "two"},
    }


def test_words_of_a_newer_version_are_read_as_live():
    body = object_with(JobStatus())
    body["status"] = {"phase": "Hibernating", "schedule": {"state": "Frozen"}}
    status = job_from_object(body).status
    assert not status.phase.is_finished
    assert status.state.is_live


def test_a_malformed_object_is_refused_with_the_field():
    body = object_with(JobStatus())
    body["spec"] = {"replicas": "many"}
    with pytest.raises(MalformedObjectError, match=r"spec\.replicas"):
        job_from_object(body)


@pytest.mark.parametrize(
    ("phase", "state", "want"),
    [
        ("Succeeded", "Launching", (Phase.LAUNCHING, ScheduleState.LAUNCHING)),
        ("Failed", "Waiting", (Phase.PENDING, ScheduleState.WAITING)),
        ("Running", "Done", (Phase.RUNNING, ScheduleState.ALIVE)),
        ("Evaporated", "Done", (Phase.FAILED, ScheduleState.DONE)),
        ("Succeeded", "Done", (Phase.SUCCEEDED, ScheduleState.DONE)),
    ],
)
def test_a_status_edited_by_hand_is_read_as_one_that_can_be(phase: str, state: str, want: tuple[Phase, ScheduleState]):
    body = object_with(JobStatus())
    body["status"] = {"phase": phase, "schedule": {"state": state}, "attemptCount": -5}
    status = job_from_object(body).status
    assert (status.phase, status.state, status.attempt_count) == (*want, 0)
