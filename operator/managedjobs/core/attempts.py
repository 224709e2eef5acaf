"""The marks that an attempt leaves in a job's status: its start, its coming up, its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.conditions import ADMITTED, find_condition
from managedjobs.core.endings import Report
from managedjobs.core.model import AttemptRecord, CurrentAttempt, JobStatus
from managedjobs.core.text import bounded

ATTEMPTS_KEPT = 10
MESSAGE_LIMIT = 256


def begin_attempt(status: JobStatus, *, job_name: str, replicas: int, now: datetime) -> JobStatus:
    """Write down the next attempt as current, with its record and the counts; written before its child Job is made."""
    number = status.attempt_count + 1
    record = AttemptRecord(number=number, start_time=now, job_name=job_name)
    return replace(
        status,
        current_attempt=CurrentAttempt(number=number, job_name=job_name, start_time=now, pods_wanted=replicas),
        attempts=(*status.attempts, record)[-ATTEMPTS_KEPT:],
        attempt_count=number,
        recovery_count=status.recovery_count + (number > 1),
        start_time=status.start_time or now,
    )


def end_attempt(status: JobStatus, report: Report, message: str, now: datetime) -> JobStatus:
    """Close the record of the current attempt, and count the program's own fault; a closed one stays as it is."""
    record = record_of(status)
    if record.end_time is not None or record.ending is not None:
        return status
    closed = replace(
        record,
        end_time=now,
        ending=report.ending.value,
        exit_code=report.exit_code,
        node_name=report.node or record.node_name,
        message=bounded(message, MESSAGE_LIMIT) or None,
    )
    return replace(status, attempts=with_record(status, closed))


def has_ended(status: JobStatus) -> bool:
    """Whether the current attempt's ending is written."""
    return record_of(status).ending is not None


def record_of(status: JobStatus) -> AttemptRecord:
    """The record of the current attempt; an open one when there is none (a status edited by hand)."""
    current = current_attempt(status)
    found = next((r for r in reversed(status.attempts) if r.number == current.number), None)
    return found or AttemptRecord(number=current.number, start_time=current.start_time, job_name=current.job_name)


def current_attempt(status: JobStatus) -> CurrentAttempt:
    """The attempt that is launching or running, or that ended last; number 0 before the first."""
    return status.current_attempt or CurrentAttempt(number=status.attempt_count)


def earlier_records(status: JobStatus) -> tuple[AttemptRecord, ...]:
    """The records before the current attempt's, oldest first."""
    number = current_attempt(status).number
    return tuple(record for record in status.attempts if record.number < number)


def time_without_slots(status: JobStatus, now: datetime) -> timedelta:
    """How long a job that is being resumed was suspended and queued: since it was last Admitted."""
    admitted = find_condition(status.conditions, ADMITTED)
    if admitted is None or admitted.status != "False" or admitted.last_transition_time is None:
        return timedelta()
    return max(timedelta(), now - admitted.last_transition_time)


def with_record(status: JobStatus, record: AttemptRecord) -> tuple[AttemptRecord, ...]:
    """The newest attempts, with this one put in the place of the one of its number."""
    others = tuple(r for r in status.attempts if r.number != record.number)
    return (*others, record)[-ATTEMPTS_KEPT:]
