"""What follows an ending."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.driving.backoff import backoff_delay
from managedjobs.core.driving.recovery import (
    Case,
    Finish,
    Retry,
    Verdict,
    counts_as_failure,
    counts_as_launch_failure,
    decide_recovery,
)
from managedjobs.core.endings import FATAL_ENDINGS, PROGRAM_ENDINGS, Ending, Report
from managedjobs.core.model import AttemptRecord, Backoff, RecoveryPolicy
from managedjobs.core.reasons import Reason
from tests.support.driven import NOW, ago

FAILED = Report(ending=Ending.PROGRAM_FAILED, exit_code=1)
CASE = Case(
    policy=RecoveryPolicy(),
    report=FAILED,
    was_up=True,
    lived=timedelta(seconds=600),
    failures=0,
    launch_failures=0,
    earlier=(),
    now=NOW,
    jitter=0.0,
)
FORGIVING = RecoveryPolicy(max_restarts_on_errors=3)


def after(seconds: float, in_a_row: int) -> Retry:
    return Retry(not_before=NOW + timedelta(seconds=seconds), in_a_row=in_a_row)


def record(number: int, ending: Ending, lasted: float = 600) -> AttemptRecord:
    return AttemptRecord(number=number, ending=ending, start_time=ago(lasted), end_time=NOW)


@pytest.mark.parametrize(
    ("case", "want"),
    [
        pytest.param(CASE, Finish(Reason.PROGRAM_FAILED), id="no restart is forgiven by default"),
        pytest.param(
            replace(CASE, report=Report(ending=Ending.OUT_OF_MEMORY, exit_code=137)),
            Finish(Reason.OUT_OF_MEMORY),
            id="out of memory has a reason of its own",
        ),
        pytest.param(replace(CASE, policy=FORGIVING), Retry(), id="a forgiven failure restarts at once"),
        pytest.param(
            replace(CASE, policy=FORGIVING, failures=3),
            Finish(Reason.PROGRAM_FAILED),
            id="three restarts allow four failing attempts",
        ),
        pytest.param(
            replace(CASE, policy=FORGIVING, failures=1, earlier=(record(1, Ending.PROGRAM_FAILED),)),
            after(60, 1),
            id="the second failure in a row waits",
        ),
        pytest.param(
            replace(
                CASE,
                policy=FORGIVING,
                failures=1,
                earlier=(record(1, Ending.PROGRAM_FAILED), record(2, Ending.PREEMPTED)),
            ),
            Retry(),
            id="a failure after a preemption is the first in a row again",
        ),
        pytest.param(
            replace(CASE, policy=RecoveryPolicy(recover_on_exit_codes=frozenset({1})), failures=9),
            Retry(),
            id="an exit code that always restarts is not counted",
        ),
        pytest.param(
            replace(CASE, report=Report(ending=Ending.PREEMPTED)), Retry(), id="a preemption restarts at once"
        ),
        pytest.param(
            replace(CASE, report=Report(ending=Ending.PREEMPTED), lived=timedelta(seconds=2)),
            Retry(),
            id="so does one that came quickly",
        ),
        pytest.param(
            replace(
                CASE,
                report=Report(ending=Ending.PREEMPTED),
                lived=timedelta(seconds=2),
                earlier=(record(1, Ending.PREEMPTED, 3), record(2, Ending.EVICTED, 4)),
            ),
            after(60, 1),
            id="the third quick loss in a row waits",
        ),
        pytest.param(
            replace(
                CASE,
                report=Report(ending=Ending.PREEMPTED),
                lived=timedelta(seconds=2),
                earlier=(record(1, Ending.PREEMPTED, 3), record(2, Ending.EVICTED, 400)),
            ),
            Retry(),
            id="a longer life in between forgives",
        ),
        pytest.param(
            replace(CASE, report=Report(ending=Ending.NOT_STARTED), was_up=False),
            after(60, 1),
            id="an attempt that never came up waits",
        ),
        pytest.param(
            replace(CASE, report=Report(ending=Ending.NOT_STARTED), was_up=False, launch_failures=2),
            after(153.6, 3),
            id="the third in a row waits longer",
        ),
        pytest.param(
            replace(
                CASE,
                report=Report(ending=Ending.NOT_STARTED),
                was_up=False,
                launch_failures=2,
                policy=RecoveryPolicy(max_launch_attempts=3),
            ),
            Finish(Reason.LAUNCH_ATTEMPTS_EXHAUSTED),
            id="until maxLaunchAttempts",
        ),
        pytest.param(
            replace(CASE, was_up=False, policy=FORGIVING),
            Retry(),
            id="a program that failed before its peers were up is no failed launch",
        ),
        *[
            pytest.param(replace(CASE, report=Report(ending=ending), policy=FORGIVING), Finish(reason), id=ending)
            for ending, reason in FATAL_ENDINGS.items()
        ],
    ],
)
def test_the_verdict(case: Case, want: Verdict):
    assert decide_recovery(case) == want


@given(
    ending=st.sampled_from(list(Ending)),
    failures=st.integers(0, 5),
    allowed=st.integers(0, 5),
    was_up=st.booleans(),
    launch_failures=st.integers(0, 20),
    jitter=st.floats(-1, 1),
)
def test_only_the_programs_own_failures_and_what_nothing_can_cure_end_a_job_without_a_launch_limit(
    ending: Ending, failures: int, allowed: int, was_up: bool, launch_failures: int, jitter: float
):
    case = replace(
        CASE,
        report=Report(ending=ending, exit_code=1),
        failures=failures,
        policy=RecoveryPolicy(max_restarts_on_errors=allowed),
        was_up=was_up,
        launch_failures=launch_failures,
        jitter=jitter,
    )
    verdict = decide_recovery(case)
    ends = ending in FATAL_ENDINGS or (ending in PROGRAM_ENDINGS and failures >= allowed)
    assert isinstance(verdict, Finish) is ends
    assert not (counts_as_failure(case) and counts_as_launch_failure(case))
    assert counts_as_failure(case) is (ending in PROGRAM_ENDINGS)


@given(tries=st.integers(1, 10_000), jitter=st.floats(-1, 1))
def test_the_backoff_grows_to_its_maximum_and_stays_in_its_spread(tries: int, jitter: float):
    policy = Backoff()
    middle = backoff_delay(policy, tries, 0)
    assert timedelta(seconds=60) <= middle <= timedelta(seconds=300)
    assert middle <= backoff_delay(policy, tries + 1, 0)
    spread = backoff_delay(policy, tries, jitter) / middle
    assert 0.6 - 1e-6 <= spread <= 1.4 + 1e-6


def test_the_backoff_is_what_its_docstring_says():
    delays = [round(backoff_delay(Backoff(), tries, 0).total_seconds()) for tries in range(1, 6)]
    assert delays == [60, 96, 154, 246, 300]


def test_a_backoff_before_the_first_ending_is_refused():
    with pytest.raises(ValueError, match="number 0"):
        backoff_delay(Backoff(), 0, 0)
