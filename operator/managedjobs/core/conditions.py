"""What follows from a job's phase: its conditions, its running time, its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from managedjobs.core.model import Condition, JobStatus
from managedjobs.core.phases import LEGAL, Phase, ScheduleState
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded

ADMITTED = "Admitted"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
RECONCILING = "Reconciling"
STALLED = "Stalled"


SPEAKING = frozenset(
    {(ADMITTED, "False"), (RUNNING, "True"), (SUCCEEDED, "True"), (SUCCEEDED, "False"), (RECONCILING, "True")}
    | {(STALLED, "True")}
)
"""The conditions that carry the present reason and sentence; the others keep the reason of their last flip."""


class IllegalTransitionError(ValueError):
    """A decision that the protocol does not allow; always a bug, never a user's fault."""


def settle(old: JobStatus, new: JobStatus, *, generation: int, now: datetime) -> JobStatus:
    """Complete a decided status: conditions, running time, completion time and observed generation.

    `old` is the status the decision was made on; `new` differs from it by what was decided. Conditions of types
    that are not ours are kept. Raises IllegalTransitionError where DESIGN 3.3 has no such transition.
    """
    if new.state is not old.state and new.state not in LEGAL[old.state]:
        raise IllegalTransitionError(f"{old.state} to {new.state}")
    if new.phase.is_finished is not (new.state is ScheduleState.DONE):
        raise IllegalTransitionError(f"phase {new.phase} with schedule state {new.state}")
    conditions = new.conditions
    for type_, status in _truths(new).items():
        wanted = Condition(
            type=type_, status=status, reason=new.reason, last_transition_time=now, observed_generation=generation
        )
        if (type_, status) in SPEAKING:
            wanted = replace(wanted, message=bounded(new.description, DESCRIPTION_LIMIT))
        else:
            wanted = _quiet(conditions, wanted)
        conditions = set_condition(conditions, wanted)
    running = new.running_seconds
    if old.phase is Phase.RUNNING and new.phase is not Phase.RUNNING:
        running += _seconds_running(old, now)
    completed = new.completion_time or (now if new.phase.is_finished else None)
    return replace(
        new,
        conditions=conditions,
        running_seconds=running,
        completion_time=completed,
        observed_generation=generation,
    )


def set_condition(conditions: tuple[Condition, ...], wanted: Condition) -> tuple[Condition, ...]:
    """Put one condition in; its transition time moves only when its status flips."""
    out: list[Condition] = []
    found = False
    for condition in conditions:
        if condition.type != wanted.type:
            out.append(condition)
            continue
        found = True
        same = condition.status == wanted.status and condition.last_transition_time is not None
        out.append(replace(wanted, last_transition_time=condition.last_transition_time) if same else wanted)
    if not found:
        out.append(wanted)
    return tuple(out)


def _quiet(conditions: tuple[Condition, ...], wanted: Condition) -> Condition:
    """A condition that has nothing to say now: the reason it flipped for stays, a sentence would be stale."""
    before = find_condition(conditions, wanted.type)
    return replace(wanted, reason=before.reason) if before and before.status == wanted.status else wanted


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """The condition of that type, or None."""
    return next((c for c in conditions if c.type == type_), None)


def _truths(status: JobStatus) -> dict[str, str]:
    phase = status.phase
    return {
        ADMITTED: _truth(status.state not in (ScheduleState.WAITING, ScheduleState.SUSPENDED)),
        RUNNING: _truth(phase is Phase.RUNNING),
        SUCCEEDED: _truth(phase is Phase.SUCCEEDED) if phase.is_finished else "Unknown",
        RECONCILING: _truth(not phase.is_finished),
        STALLED: _truth(phase is Phase.FAILED),
    }


def _truth(value: bool) -> str:
    return "True" if value else "False"


def _seconds_running(status: JobStatus, now: datetime) -> int:
    running = find_condition(status.conditions, RUNNING)
    if running is None or running.status != "True" or running.last_transition_time is None:
        return 0
    return max(0, int((now - running.last_transition_time).total_seconds()))
