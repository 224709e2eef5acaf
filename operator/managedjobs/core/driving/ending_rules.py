"""The end of an attempt, written before anything of it is deleted: another attempt follows, or the job has failed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from managedjobs.core.attempts import current_attempt, earlier_records, end_attempt
from managedjobs.core.driving import describe
from managedjobs.core.driving.recovery import (
    Case,
    Finish,
    Retry,
    counts_as_failure,
    counts_as_launch_failure,
    decide_recovery,
)
from managedjobs.core.driving.situation import Situation
from managedjobs.core.driving.steps import WriteStatus
from managedjobs.core.endings import PROGRAM_ENDINGS, Ending, Report
from managedjobs.core.model import JobStatus
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason


def end(situation: Situation, report: Report) -> WriteStatus:
    """Write that the current attempt ended so, and what follows by the recovery policy."""
    case = _case(situation, report)
    status = _counted(situation, case)
    verdict = decide_recovery(case)
    if isinstance(verdict, Finish):
        return _failed(situation, status, report, verdict.reason)
    return _retried(situation, status, report, verdict)


def conclude(situation: Situation) -> WriteStatus:
    """Write the outcome of a job whose failure was written while its pods still ran, now that none does."""
    status = situation.status
    reason = next((r for r in Reason if r.value == status.reason), Reason.PROGRAM_FAILED)
    return situation.done(
        status,
        phase=Phase.FAILED,
        reason=reason,
        description=describe.failed_at_last(status.description),
        exit_code=status.exit_code,
    )


def _case(situation: Situation, report: Report) -> Case:
    status, now = situation.status, situation.now
    current = current_attempt(status)
    since = current.up_time or current.start_time
    return Case(
        policy=situation.job.spec.recovery,
        report=report,
        was_up=current.up_time is not None,
        lived=now - since if since else timedelta(),
        failures=status.failure_count,
        launch_failures=status.launch_failure_count,
        earlier=earlier_records(status),
        now=now,
        jitter=situation.view.jitter,
    )


def _counted(situation: Situation, case: Case) -> JobStatus:
    message = describe.stop(describe.cause(case.report, situation.number)) + describe.last_line(case.report)
    status = end_attempt(situation.status, case.report, message, situation.now)
    own_fault = case.report.ending in PROGRAM_ENDINGS
    return replace(
        status,
        exit_code=case.report.exit_code if own_fault else status.exit_code,
        failure_count=status.failure_count + counts_as_failure(case),
        launch_failure_count=status.launch_failure_count + 1 if counts_as_launch_failure(case) else 0,
    )


def _failed(situation: Situation, status: JobStatus, report: Report, reason: Reason) -> WriteStatus:
    """The outcome; while pods still run, first the intent: they are stopped before the outcome is written."""
    text = _failure_text(situation, status, report, reason)
    if _nothing_is_to_be_stopped(situation):
        code = status.exit_code
        return situation.done(status, phase=Phase.FAILED, reason=reason, description=text, exit_code=code)
    return situation.write(replace(status, reason=reason.value, description=describe.failing(text)))


def _nothing_is_to_be_stopped(situation: Situation) -> bool:
    child = situation.own_child
    if child is None:
        return situation.view.fresh
    alone = situation.view.fresh and not situation.own_running_pods
    return child.over or child.failed or (alone and situation.child_ends_by_itself)


def _failure_text(situation: Situation, status: JobStatus, report: Report, reason: Reason) -> str:
    if reason is Reason.LAUNCH_ATTEMPTS_EXHAUSTED:
        return describe.launches_exhausted(report, situation.number, status.launch_failure_count)
    return describe.failed(
        report,
        situation.number,
        restarts_used=situation.status.failure_count,
        restarts_allowed=situation.job.spec.recovery.max_restarts_on_errors,
    )


def _retried(situation: Situation, status: JobStatus, report: Report, retry: Retry) -> WriteStatus:
    if retry.not_before is None:
        return situation.move(
            status,
            state=ScheduleState.ALIVE_WAITING,
            phase=Phase.RECOVERING,
            reason=Reason.RECOVERING,
            description=describe.recovering(report, situation.number),
            warning=True,
        )
    return situation.move(
        status,
        state=ScheduleState.ALIVE_BACKOFF,
        phase=Phase.RECOVERING,
        reason=Reason.NAME_TAKEN if report.ending is Ending.NAME_TAKEN else Reason.BACKOFF,
        description=describe.backoff(report, situation.number, retry.not_before, retry.in_a_row),
        next_retry_time=retry.not_before,
        warning=True,
    )
