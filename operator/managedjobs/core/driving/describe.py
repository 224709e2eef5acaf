"""The sentences about a job that a controller drives: what, why, what next. All are bounded in length."""

from __future__ import annotations

from datetime import datetime, timedelta

from managedjobs.core.driving.observe import Launch, PodsWaiting, WaitKind
from managedjobs.core.endings import PROGRAM_ENDINGS, Ending, Report
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded, clock_time, ordinal, plural, seconds

_DETAIL = 300
_WORDS = 160
_FAILED = "Failed: "
_FAILING = "Failing, its pods are ending: "
_LINE = 200

_WHAT_HAPPENED = {
    Ending.PREEMPTED: "was preempted",
    Ending.EVICTED: "was evicted",
    Ending.NODE_LOST: "was lost",
    Ending.NODE_SHUTDOWN: "ended in a shutdown of its node",
    Ending.REJECTED: "was rejected by its node",
    Ending.DISRUPTED: "was disrupted",
    Ending.POD_DELETED: "was deleted by someone else",
}
_WITHOUT_POD = {
    Ending.CHILD_JOB_DELETED: "the child Job was deleted by someone else",
    Ending.NAMESPACE_TERMINATING: "the namespace is being deleted",
    Ending.INVALID_TEMPLATE: "the API server refuses the child Job",
    Ending.NOT_ALLOWED: "the child Job or its pods are not allowed",
    Ending.QUOTA_EXCEEDED: "a quota does not allow the child Job",
    Ending.CANCELLED: "cancelled",
    Ending.SUSPENDED: "suspended",
}


def cause(report: Report, number: int) -> str:
    """What ended attempt `number`, as the middle of a sentence; it is kept in `status.attempts[].message`."""
    if report.ending in PROGRAM_ENDINGS:
        return _program_cause(report, number)
    what = _WITHOUT_POD.get(report.ending)
    if what is None and report.ending in _WHAT_HAPPENED:
        pod = "a pod" if report.index is None else f"pod {report.index}"
        place = f" on node {report.node}" if report.node else ""
        what = f"{pod} {_WHAT_HAPPENED[report.ending]}{place}"
    if what is None:
        return report.detail  # these endings bring their whole sentence along
    attempt = f" (attempt {number})"
    return f"{what}{attempt}: {bounded(report.detail, _DETAIL)}" if report.detail else f"{what}{attempt}"


def _program_cause(report: Report, number: int) -> str:
    if report.ending is Ending.OUT_OF_MEMORY:
        limit = f", its limit is {report.memory_limit}" if report.memory_limit else ""
        what = f"out of memory (exit code {report.exit_code}{limit})"
    elif report.ending is Ending.POD_DEADLINE:
        what = "ran longer than activeDeadlineSeconds of its template"
    elif report.exit_code is None:
        what = "failed without an exit code"
    else:
        what = f"exit code {report.exit_code}"
    container = f"container {report.container} of " if report.container else ""
    pod = f" in {container}pod {report.index}" if report.index is not None else ""
    detail = f" ({bounded(report.detail, _WORDS)})" if report.detail else ""
    return f"{what}{detail}{pod}, attempt {number}"


def last_line(report: Report) -> str:
    """` Last line: "…".`, or nothing."""
    return f' Last line: "{bounded(report.last_line, _LINE)}".' if report.last_line else ""


def failed(report: Report, number: int, *, restarts_used: int, restarts_allowed: int) -> str:
    """The description of a job that failed."""
    restarts = ""
    if report.ending in PROGRAM_ENDINGS and restarts_allowed:
        restarts = f"; {restarts_used} of {plural(restarts_allowed, 'restart')} used"
    return _bounded(f"Failed: {stop(cause(report, number) + restarts)}{last_line(report)}")


def launches_exhausted(report: Report, number: int, in_a_row: int) -> str:
    """The description of a job of which too many attempts in a row never came up."""
    tries = plural(in_a_row, "attempt")
    return _bounded(f"Failed: {tries} in a row did not start; last: {stop(cause(report, number))}{last_line(report)}")


def backoff(report: Report, number: int, next_try: datetime, in_a_row: int) -> str:
    """The description of a job whose next attempt waits for its time."""
    row = f", {ordinal(in_a_row)} in a row" if in_a_row > 1 else ""
    text = f"Backoff: {stop(cause(report, number))}{last_line(report)} Next try at {clock_time(next_try)}{row}."
    return _bounded(text)


def recovering(report: Report, number: int) -> str:
    """The description of a job whose next attempt waits for a launch slot."""
    return _bounded(f"Recovering: {stop(cause(report, number))}{last_line(report)} Waiting for a launch slot.")


def recovering_again(message: str, number: int) -> str:
    """The same, once a backoff is over, from what was kept about the attempt."""
    return _bounded(f"Recovering: {stop(message or f'attempt {number} ended')} Waiting for a launch slot.")


def not_started(launch: Launch | None, number: int, timeout: timedelta) -> str:
    """The cause of an attempt that was not up in time."""
    why = f" ({_waiting(launch.waiting[0], counted=False)})" if launch and launch.waiting else ""
    return f"attempt {number} did not start within {seconds(timeout)}{why}"


def creating(number: int, replicas: int) -> str:
    """The description at the start of an attempt."""
    return f"Launching attempt {number}: creating {plural(replicas, 'pod')}."


def launching(launch: Launch, number: int, *, parked: bool) -> str:
    """The description of an attempt that comes up: `Launching attempt 1: 1 of 4 pods running; 3 unschedulable: …`."""
    parts = [f"{launch.started} of {plural(launch.wanted, 'pod')} running"]
    parts += [_waiting(waiting, counted=True) for waiting in launch.waiting]
    tail = " Parked: it holds no launch slot while it waits." if parked else ""
    return _bounded(f"Launching attempt {number}: {stop('; '.join(parts))}{tail}")


def suspended_from_outside(number: int) -> str:
    """The description of an attempt whose child Job waits for someone else to resume it."""
    return (
        f"Launching attempt {number}: its child Job is suspended, by a queue such as Kueue or by hand. "
        "Parked: it holds no launch slot while it waits."
    )


def old_pods_ending(number: int) -> str:
    """The description of an attempt that waits for the pods of an earlier one."""
    return f"Launching attempt {number}: pods of an earlier attempt are still ending."


def predecessor_ending(number: int, what: str) -> str:
    """The description of an attempt that waits for the leftovers of an earlier job of its name."""
    return _bounded(f"Launching attempt {number}: waiting until {what} of an earlier job of this name is gone.")


def name_taken(kind: str, name: str) -> str:
    """The cause of an attempt that found its name taken."""
    return f"a {kind} {name} that is not ours has the name that this job needs; delete it, or use another name"


def refused_for_now(number: int, message: str) -> str:
    """The description of an attempt of which the API server does not take an object at the moment."""
    return _bounded(
        f"Launching attempt {number}: the API server says: {stop(bounded(message, _DETAIL))} Trying again."
    )


def running(number: int, replicas: int) -> str:
    """The description of a job that runs."""
    return f"Running: attempt {number}, {plural(replicas, 'pod')}."


def node_silent(number: int, index: int | None, node: str, recovery_at: datetime | None) -> str:
    """The description of a running job of which a node does not answer; `recovery_at` None: it is waited for."""
    pod = "a pod" if index is None else f"pod {index}"
    if recovery_at is None:
        what_next = "Waiting for it, as spec.recovery.nodeLost.policy is Wait."
    else:
        what_next = f"The next attempt follows at {clock_time(recovery_at)} if it stays away."
    return _bounded(f"Running: attempt {number}, but node {node} of {pod} does not answer. {what_next}")


def stopping(verb: str, number: int) -> str:
    """The description of a job that is being cancelled or suspended (`verb`)."""
    return f"{verb}: the pods of attempt {number} are ending, each within its grace period."


def cancelled(number: int) -> str:
    """The description of a job that was cancelled after its start."""
    return f"Cancelled during attempt {number}."


def suspended(number: int) -> str:
    """The description of a job that was suspended after its start."""
    return f"Suspended after attempt {number}; set spec.suspend to false to queue it again."


def succeeded(number: int, replicas: int) -> str:
    """The description of a job that succeeded."""
    if replicas == 1:
        return f"Succeeded: exit code 0 in attempt {number}."
    return f"Succeeded: exit code 0 in all {replicas} pods of attempt {number}."


def failing(text: str) -> str:
    """The description of a job whose failure is decided while some of its pods still end, from the one to come."""
    return _FAILING + text.removeprefix(_FAILED)


def failed_at_last(text: str) -> str:
    """The description of the failed job, from that of the failing one."""
    return _FAILED + text.removeprefix(_FAILING)


def stop(text: str) -> str:
    """`text` with one full stop at its end."""
    return f"{text.rstrip().rstrip('.')}."


def _waiting(waiting: PodsWaiting, *, counted: bool) -> str:
    kind = waiting.kind.value
    words = bounded(waiting.words, _WORDS).rstrip(".")
    if waiting.kind is WaitKind.NOT_CREATED and not words:
        words = "quota exceeded"
    text = f"{kind}: {words}" if words else kind
    return f"{waiting.count} {text}" if counted else text


def _bounded(text: str) -> str:
    return bounded(text, DESCRIPTION_LIMIT)
