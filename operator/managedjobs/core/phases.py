"""The two words that say where a job is: its phase (for people) and its schedule state (for the scheduler)."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """One word for people, in `status.phase`."""

    PENDING = "Pending"
    LAUNCHING = "Launching"
    RUNNING = "Running"
    RECOVERING = "Recovering"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"

    @property
    def is_finished(self) -> bool:
        """Whether the job has its outcome, which never changes again."""
        return self in FINISHED_PHASES


FINISHED_PHASES = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})


class ScheduleState(StrEnum):
    """Where the job stands with the scheduler, in `status.schedule.state`."""

    WAITING = "Waiting"
    LAUNCHING = "Launching"
    PARKED = "Parked"
    ALIVE = "Alive"
    ALIVE_WAITING = "AliveWaiting"
    ALIVE_BACKOFF = "AliveBackoff"
    SUSPENDED = "Suspended"
    DONE = "Done"

    @property
    def is_live(self) -> bool:
        """Whether the job was taken over and has neither finished nor been suspended: it holds a run slot."""
        return self in LIVE_STATES


LIVE_STATES = frozenset(
    {
        ScheduleState.LAUNCHING,
        ScheduleState.PARKED,
        ScheduleState.ALIVE,
        ScheduleState.ALIVE_WAITING,
        ScheduleState.ALIVE_BACKOFF,
    }
)

LEGAL: dict[ScheduleState, frozenset[ScheduleState]] = {
    ScheduleState.WAITING: frozenset({ScheduleState.LAUNCHING, ScheduleState.SUSPENDED, ScheduleState.DONE}),
    ScheduleState.LAUNCHING: frozenset(
        {
            ScheduleState.ALIVE,
            ScheduleState.PARKED,
            ScheduleState.ALIVE_BACKOFF,
            ScheduleState.ALIVE_WAITING,
            ScheduleState.SUSPENDED,
            ScheduleState.DONE,
        }
    ),
    ScheduleState.PARKED: frozenset(
        {
            ScheduleState.ALIVE,
            ScheduleState.ALIVE_BACKOFF,
            ScheduleState.ALIVE_WAITING,
            ScheduleState.SUSPENDED,
            ScheduleState.DONE,
        }
    ),
    ScheduleState.ALIVE: frozenset(
        {
            ScheduleState.PARKED,
            ScheduleState.ALIVE_BACKOFF,
            ScheduleState.ALIVE_WAITING,
            ScheduleState.SUSPENDED,
            ScheduleState.DONE,
        }
    ),
    ScheduleState.ALIVE_BACKOFF: frozenset({ScheduleState.ALIVE_WAITING, ScheduleState.SUSPENDED, ScheduleState.DONE}),
    ScheduleState.ALIVE_WAITING: frozenset({ScheduleState.LAUNCHING, ScheduleState.SUSPENDED, ScheduleState.DONE}),
    ScheduleState.SUSPENDED: frozenset({ScheduleState.WAITING, ScheduleState.DONE}),
    ScheduleState.DONE: frozenset(),
}
"""The transitions of the protocol (DESIGN 3.3); staying in a state is always legal."""
