"""API objects to values: the only reader of a ManagedJob's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

import msgspec

from managedjobs.api import wire
from managedjobs.core.model import (
    AttemptRecord,
    Backoff,
    Condition,
    ControllerRef,
    CurrentAttempt,
    Job,
    JobSpec,
    JobStatus,
    NodeLost,
    RecoveryPolicy,
    Schedule,
)
from managedjobs.core.phases import Phase, ScheduleState

_EPOCH = datetime.fromtimestamp(0, UTC)
E_ = TypeVar("E_", bound=StrEnum)


class MalformedObjectError(ValueError):
    """An object that the schema should have refused; the message names the field."""


def job_from_object(body: Mapping[str, object]) -> Job:
    """The value of a ManagedJob given as a decoded JSON object. Raises MalformedObjectError."""
    try:
        return parse_job(msgspec.convert(body, wire.ManagedJobWire))
    except msgspec.ValidationError as error:
        raise MalformedObjectError(str(error)) from error


def parse_job(obj: wire.ManagedJobWire) -> Job:
    """The value of a ManagedJob as it was decoded from the API server."""
    meta = obj.metadata
    return Job(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        generation=meta.generation,
        created=meta.creation_timestamp or _EPOCH,
        deleting=meta.deletion_timestamp is not None,
        labels=dict(meta.labels or {}),
        spec=_parse_spec(obj.spec),
        status=_parse_status(obj.status),
    )


def _parse_spec(spec: wire.SpecWire) -> JobSpec:
    unsupported = tuple(
        path
        for path, given in (("spec.tasks", spec.tasks), ("spec.runtimeEnv", spec.runtime_env))
        if given is not None
    )
    return JobSpec(
        replicas=spec.replicas,
        priority=spec.priority,
        pool=spec.controller_pool_name,
        suspend=spec.suspend,
        cancel=spec.cancel,
        managed_by=spec.managed_by,
        recovery=_parse_recovery(spec.recovery),
        launch_timeout=timedelta(seconds=spec.launch_timeout_seconds),
        queue_timeout=_duration(spec.queue_timeout_seconds),
        active_deadline=_duration(spec.active_deadline_seconds),
        ttl_after_finished=_duration(spec.ttl_seconds_after_finished),
        unsupported=unsupported,
    )


_NO_RECOVERY = wire.RecoveryWire()
_DEFAULT_RECOVERY = RecoveryPolicy()


def _parse_recovery(recovery: wire.RecoveryWire) -> RecoveryPolicy:
    if recovery == _NO_RECOVERY:
        return _DEFAULT_RECOVERY  # one for all of the many jobs that say nothing about it
    backoff = recovery.backoff
    return RecoveryPolicy(
        strategy=recovery.strategy,
        max_restarts_on_errors=recovery.max_restarts_on_errors,
        recover_on_exit_codes=frozenset(recovery.recover_on_exit_codes),
        backoff=Backoff(
            initial=timedelta(seconds=backoff.initial_seconds),
            factor_percent=backoff.factor_percent,
            maximum=timedelta(seconds=backoff.max_seconds),
            jitter_percent=backoff.jitter_percent,
        ),
        max_launch_attempts=recovery.max_launch_attempts,
        node_lost=NodeLost(
            timeout=timedelta(seconds=recovery.node_lost.timeout_seconds),
            relaunch=recovery.node_lost.policy != "Wait",
        ),
    )


def _parse_status(status: wire.StatusWire) -> JobStatus:
    schedule = _parse_schedule(status.schedule)
    phase, state = _agreed(status.phase, schedule.state)
    return JobStatus(
        phase=phase,
        reason=status.reason,
        description=status.description,
        observed_generation=status.observed_generation,
        conditions=tuple(_parse_condition(c) for c in status.conditions),
        schedule=replace(schedule, state=state),
        controller=_parse_controller(status.controller),
        current_attempt=(as_fields(CurrentAttempt, status.current_attempt) if status.current_attempt else None),
        attempts=tuple(as_fields(AttemptRecord, a) for a in status.attempts),
        attempt_count=max(0, status.attempt_count),
        failure_count=max(0, status.failure_count),
        recovery_count=status.recovery_count,
        launch_failure_count=status.launch_failure_count,
        start_time=status.start_time,
        first_up_time=status.first_up_time,
        completion_time=status.completion_time,
        running_seconds=status.running_seconds,
        exit_code=status.exit_code,
        logs=status.logs,
    )


def _parse_condition(condition: wire.ConditionWire) -> Condition:
    """Spelled out, for there are five of them in each of many thousands of jobs."""
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=condition.last_transition_time,
        observed_generation=condition.observed_generation,
    )


def _parse_schedule(schedule: wire.ScheduleWire | None) -> Schedule:
    if schedule is None:
        return Schedule()
    return Schedule(
        state=known(ScheduleState, schedule.state, ScheduleState.ALIVE),
        position=schedule.position,
        queue_time=schedule.queue_time,
        next_retry_time=schedule.next_retry_time,
        leader_term=schedule.leader_term,
    )


def _parse_controller(controller: wire.ControllerWire | None) -> ControllerRef | None:
    if controller is None or not controller.pod_uid:
        return None
    return as_fields(ControllerRef, controller)


_PHASES = frozenset(phase.value for phase in Phase)
_PHASE_OF = {
    ScheduleState.WAITING: Phase.PENDING,
    ScheduleState.LAUNCHING: Phase.LAUNCHING,
    ScheduleState.PARKED: Phase.LAUNCHING,
    ScheduleState.ALIVE: Phase.RUNNING,
    ScheduleState.ALIVE_WAITING: Phase.RECOVERING,
    ScheduleState.ALIVE_BACKOFF: Phase.RECOVERING,
    ScheduleState.SUSPENDED: Phase.SUSPENDED,
}


def _agreed(word: str, state: ScheduleState) -> tuple[Phase, ScheduleState]:
    """A phase and a state that can stand together, also where somebody edited the status by hand.

    A job has its outcome where both say so; a phase of a newer version that is done counts as an outcome too.
    """
    if word not in _PHASES:
        return (Phase.FAILED if state is ScheduleState.DONE else Phase.RUNNING), state
    phase = Phase(word)
    if phase.is_finished and state is not ScheduleState.DONE:
        return _PHASE_OF[state], state
    if state is ScheduleState.DONE and not phase.is_finished:
        return phase, ScheduleState.ALIVE
    return phase, state


def known(enum: type[E_], word: str, otherwise: E_) -> E_:
    """The member for `word`; `otherwise` for a word of a newer version, which readers treat as live."""
    try:
        return enum(word)
    except ValueError:
        return otherwise


V = TypeVar("V")


def as_fields(value_type: type[V], source: wire.Wire) -> V:
    """Build a value whose fields have the very names of the wire shape's."""
    return value_type(**{name: getattr(source, name) for name in source.__struct_fields__})


def _duration(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
