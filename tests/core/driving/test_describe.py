"""The sentences that people read about a job that was launched: what, why, what next."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managedjobs.core.driving import describe
from managedjobs.core.driving.observe import PodsWaiting, WaitKind
from managedjobs.core.endings import MEANING, Ending, Report
from managedjobs.core.text import DESCRIPTION_LIMIT
from tests.support.driven import NOW, launch


def waiting(*waits: PodsWaiting, started: int = 1, wanted: int = 4):
    seen = launch(wanted)
    return type(seen)(
        wanted=wanted,
        started=started,
        ready=0,
        waiting=waits,
        quiet_since=seen.quiet_since,
        holding_since=None,
        main_node=None,
    )


UNSCHEDULABLE = PodsWaiting(
    kind=WaitKind.UNSCHEDULABLE, count=3, words="insufficient nvidia.com/gpu (0 of 5 nodes fit)"
)


@pytest.mark.parametrize(
    ("said", "want"),
    [
        (
            describe.launching(waiting(UNSCHEDULABLE), 1, parked=False),
            "Launching attempt 1: 1 of 4 pods running; "
            "3 unschedulable: insufficient nvidia.com/gpu (0 of 5 nodes fit).",
        ),
        (
            describe.backoff(
                Report(
                    ending=Ending.NOT_STARTED,
                    detail=describe.not_started(
                        waiting(PodsWaiting(kind=WaitKind.IMAGE, count=1, words="registry said not found")),
                        2,
                        timedelta(seconds=1800),
                    ),
                ),
                2,
                NOW,
                3,
            ),
            "Backoff: attempt 2 did not start within 1800 s (image not pulled: registry said not found). "
            "Next try at 12:00:00Z, 3rd in a row.",
        ),
        (
            describe.recovering(Report(ending=Ending.PREEMPTED, index=2, node="gpu-7"), 3),
            "Recovering: pod 2 was preempted on node gpu-7 (attempt 3). Waiting for a launch slot.",
        ),
        (
            describe.failed(
                Report(ending=Ending.PROGRAM_FAILED, exit_code=1, index=0, last_line="KeyError: 'lr'"),
                2,
                restarts_used=1,
                restarts_allowed=1,
            ),
            "Failed: exit code 1 in pod 0, attempt 2; 1 of 1 restart used. Last line: \"KeyError: 'lr'\".",
        ),
        (
            describe.failed(
                Report(ending=Ending.OUT_OF_MEMORY, exit_code=137, index=0, memory_limit="32Mi"),
                1,
                restarts_used=0,
                restarts_allowed=0,
            ),
            "Failed: out of memory (exit code 137, its limit is 32Mi) in pod 0, attempt 1.",
        ),
        (
            describe.failed(
                Report(ending=Ending.PROGRAM_FAILED, exit_code=4, index=1, container="helper"),
                1,
                restarts_used=0,
                restarts_allowed=0,
            ),
            "Failed: exit code 4 in container helper of pod 1, attempt 1.",
        ),
        (
            describe.launches_exhausted(
                Report(ending=Ending.QUOTA_EXCEEDED, detail="exceeded quota: jobs"), 3, in_a_row=3
            ),
            "Failed: 3 attempts in a row did not start; last: a quota does not allow the child Job (attempt 3): "
            "exceeded quota: jobs.",
        ),
        (
            describe.recovering_again("pod 0 was evicted on node n (attempt 1)", 1),
            "Recovering: pod 0 was evicted on node n (attempt 1). Waiting for a launch slot.",
        ),
        (describe.recovering_again("", 1), "Recovering: attempt 1 ended. Waiting for a launch slot."),
        (
            describe.node_silent(2, 1, "gpu-7", NOW),
            "Running: attempt 2, but node gpu-7 of pod 1 does not answer. "
            "The next attempt follows at 12:00:00Z if it stays away.",
        ),
    ],
)
def test_the_sentence(said: str, want: str):
    assert said == want


@given(
    ending=st.sampled_from(list(Ending)),
    text=st.text(max_size=3000),
    index=st.none() | st.integers(0, 9999),
    code=st.none() | st.integers(0, 255),
)
def test_every_sentence_is_one_line_and_bounded(ending: Ending, text: str, index: int | None, code: int | None):
    report = Report(ending=ending, exit_code=code, index=index, node=text, detail=text, last_line=text, container=text)
    for said in (
        describe.failed(report, 2, restarts_used=1, restarts_allowed=2),
        describe.backoff(report, 2, NOW, 3),
        describe.recovering(report, 2),
        describe.launches_exhausted(report, 2, 3),
    ):
        assert 0 < len(said) <= DESCRIPTION_LIMIT
        assert "\n" not in said


def test_every_ending_is_explained():
    assert set(MEANING) == set(Ending)
    assert all(sentence.endswith(".") for sentence in MEANING.values())
