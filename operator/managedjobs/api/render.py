"""Values to API objects: a job's status, and the merge patch that turns one status into another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from managedjobs.core.model import (
    AttemptRecord,
    Condition,
    ControllerRef,
    CurrentAttempt,
    Job,
    JobStatus,
    Schedule,
)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def status_patch(job: Job, new: JobStatus) -> dict[str, Json] | None:
    """The merge patch for `/status` from the status the decision was made on; None: nothing differs.

    It carries `metadata.resourceVersion`, so that a write decided on an older object is refused (409).
    """
    change = merge_patch(render_status(job.status), render_status(new))
    if not change:
        return None
    return {"metadata": {"resourceVersion": job.resource_version}, "status": change}


def merge_patch(old: Mapping[str, Json], new: Mapping[str, Json]) -> dict[str, Json]:
    """The JSON merge patch (RFC 7386) from one object to another; lists are replaced whole."""
    patch: dict[str, Json] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = merge_patch(before, value)
            if inner:
                patch[key] = inner
        elif value != before:
            patch[key] = value
    return patch


def render_status(status: JobStatus) -> dict[str, Json]:
    """`status` as the schema has it; fields without a value are left out."""
    return _present(
        {
            "phase": status.phase.value,
            "reason": status.reason,
            "description": status.description,
            "observedGeneration": status.observed_generation,
            "conditions": [render_condition(c) for c in status.conditions] or None,
            "schedule": _render_schedule(status.schedule),
            "controller": _render_controller(status.controller) if status.controller else None,
            "currentAttempt": _render_current(status.current_attempt) if status.current_attempt else None,
            "attempts": [_render_attempt(a) for a in status.attempts] or None,
            "attemptCount": status.attempt_count or None,
            "failureCount": status.failure_count or None,
            "recoveryCount": status.recovery_count or None,
            "launchFailureCount": status.launch_failure_count or None,
            "startTime": timestamp(status.start_time),
            "firstUpTime": timestamp(status.first_up_time),
            "completionTime": timestamp(status.completion_time),
            "runningSeconds": status.running_seconds or None,
            "exitCode": status.exit_code,
            "logs": status.logs,
        }
    )


def timestamp(moment: datetime | None) -> str | None:
    """A moment as the API server writes it, in whole seconds: `2026-01-02T03:04:05Z`."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_condition(condition: Condition) -> Json:
    """One entry of `status.conditions`."""
    return _present(
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message or None,
            "lastTransitionTime": timestamp(condition.last_transition_time),
            "observedGeneration": condition.observed_generation,
        }
    )


def _render_schedule(schedule: Schedule) -> Json:
    return _present(
        {
            "state": schedule.state.value,
            "position": schedule.position,
            "queueTime": timestamp(schedule.queue_time),
            "nextRetryTime": timestamp(schedule.next_retry_time),
            "leaderTerm": schedule.leader_term,
        }
    )


def _render_controller(controller: ControllerRef) -> Json:
    return _present(
        {
            "podName": controller.pod_name,
            "podUID": controller.pod_uid,
            "nodeName": controller.node_name,
            "version": controller.version,
            "failures": controller.failures or None,
            "lastFailureTime": timestamp(controller.last_failure_time),
        }
    )


def _render_current(attempt: CurrentAttempt) -> Json:
    return _present(
        {
            "number": attempt.number,
            "jobName": attempt.job_name,
            "jobUID": attempt.job_uid,
            "startTime": timestamp(attempt.start_time),
            "upTime": timestamp(attempt.up_time),
            "podsReady": attempt.pods_ready,
            "podsWanted": attempt.pods_wanted,
        }
    )


def _render_attempt(attempt: AttemptRecord) -> Json:
    return _present(
        {
            "number": attempt.number,
            "startTime": timestamp(attempt.start_time),
            "endTime": timestamp(attempt.end_time),
            "ending": attempt.ending,
            "exitCode": attempt.exit_code,
            "nodeName": attempt.node_name,
            "jobName": attempt.job_name,
            "message": attempt.message,
        }
    )


def _present(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in fields.items() if value is not None}
