"""What follows an ending: another attempt, now or later, or the end of the job. Ordered rules, first hit wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from managedjobs.core.driving.backoff import backoff_delay
from managedjobs.core.endings import FATAL_ENDINGS, PROGRAM_ENDINGS, Ending, Report
from managedjobs.core.model import AttemptRecord, RecoveryPolicy
from managedjobs.core.reasons import Reason

QUICK = timedelta(seconds=10)
"""An attempt that was lost so soon after its start, or after it was up, got nothing done."""
QUICK_LOSSES_IN_A_ROW = 3
"""So many quick losses in a row, and the next attempt waits for a backoff: they could follow each other for ever."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The job has failed, for this reason."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Another attempt follows."""

    not_before: datetime | None = None
    """None: as soon as there is a launch slot."""
    in_a_row: int = 0
    """How many endings of the kind that backs off came in a row; 0 without a backoff."""


Verdict = Finish | Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All that a verdict depends on."""

    policy: RecoveryPolicy
    report: Report
    was_up: bool
    lived: timedelta
    """Since the attempt was up, or since its start when it never was."""
    failures: int
    """The program's own failures before this ending (`failureCount`)."""
    launch_failures: int
    """Attempts in a row before this one that never came up."""
    earlier: tuple[AttemptRecord, ...]
    """The attempts before this one, oldest first."""
    now: datetime
    jitter: float
    """Between -1 and 1."""

    @property
    def own_fault(self) -> bool:
        """Whether the ending was the program's own doing."""
        return self.report.ending in PROGRAM_ENDINGS

    @property
    def always_recovered(self) -> bool:
        """Whether the user wants this exit code to restart the job without being counted."""
        return self.own_fault and self.report.exit_code in self.policy.recover_on_exit_codes


def decide_recovery(case: Case) -> Verdict:
    """What follows the ending: the first rule of `RULES` that has an answer gives it."""
    for rule in RULES:
        verdict = rule(case)
        if verdict is not None:
            return verdict
    return Retry()


def counts_as_failure(case: Case) -> bool:
    """Whether the ending is one more in `failureCount`; exit codes that always restart are not."""
    return case.own_fault and not case.always_recovered


def counts_as_launch_failure(case: Case) -> bool:
    """Whether the attempt is one more in a row that never came up."""
    return not case.was_up and not case.own_fault


def _fatal(case: Case) -> Verdict | None:
    """What no attempt can cure ends the job at once."""
    reason = FATAL_ENDINGS.get(case.report.ending)
    return Finish(reason) if reason else None


def _no_restart_left(case: Case) -> Verdict | None:
    """`maxRestartsOnErrors: 3` forgives three failures of the program; the fourth ends the job."""
    if not counts_as_failure(case) or case.failures < case.policy.max_restarts_on_errors:
        return None
    return Finish(Reason.OUT_OF_MEMORY if case.report.ending is Ending.OUT_OF_MEMORY else Reason.PROGRAM_FAILED)


def _forgiven(case: Case) -> Verdict | None:
    """A failure that is forgiven restarts at once; from the second in a row on, after a backoff."""
    if not case.own_fault:
        return None
    in_a_row = 1 + _last_in_a_row(case.earlier, lambda r: r.ending in PROGRAM_ENDINGS)
    return _after_backoff(case, in_a_row - 1) if in_a_row > 1 else Retry()


def _launches_exhausted(case: Case) -> Verdict | None:
    """`maxLaunchAttempts: 3` ends the job with the third attempt in a row that never came up."""
    limit = case.policy.max_launch_attempts
    if not counts_as_launch_failure(case) or limit is None or case.launch_failures + 1 < limit:
        return None
    return Finish(Reason.LAUNCH_ATTEMPTS_EXHAUSTED)


def _never_up(case: Case) -> Verdict | None:
    """An attempt that never came up is tried again after the backoff."""
    return _after_backoff(case, case.launch_failures + 1) if counts_as_launch_failure(case) else None


def _lost_quickly(case: Case) -> Verdict | None:
    """An attempt that was up is recovered at once, unless several in a row were lost almost as they started."""
    if case.lived >= QUICK:
        return None
    in_a_row = 1 + _last_in_a_row(case.earlier, _was_lost_quickly)
    return _after_backoff(case, in_a_row - QUICK_LOSSES_IN_A_ROW + 1) if in_a_row >= QUICK_LOSSES_IN_A_ROW else None


RULES: tuple[Callable[[Case], Verdict | None], ...] = (
    _fatal,
    _no_restart_left,
    _forgiven,
    _launches_exhausted,
    _never_up,
    _lost_quickly,
)


def _after_backoff(case: Case, in_a_row: int) -> Retry:
    return Retry(not_before=case.now + backoff_delay(case.policy.backoff, in_a_row, case.jitter), in_a_row=in_a_row)


def _last_in_a_row(records: tuple[AttemptRecord, ...], wanted: Callable[[AttemptRecord], bool]) -> int:
    count = 0
    for record in reversed(records):
        if not wanted(record):
            break
        count += 1
    return count


def _was_lost_quickly(record: AttemptRecord) -> bool:
    if record.ending in PROGRAM_ENDINGS or record.start_time is None or record.end_time is None:
        return False
    return record.end_time - record.start_time < QUICK
