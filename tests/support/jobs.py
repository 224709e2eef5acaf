"""Jobs, pods and pools as values, with only what a test cares about spelled out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from managedjobs.core.model import ControllerRef, Job, JobKey, JobSpec, JobStatus, Schedule
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.scheduling.admission import PoolFacts
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.limits import PoolLimits
from managedjobs.core.scheduling.pool import PoolSpec

NOW = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
TERM = 7

_PHASES = {
    ScheduleState.WAITING: Phase.PENDING,
    ScheduleState.LAUNCHING: Phase.LAUNCHING,
    ScheduleState.ALIVE: Phase.RUNNING,
    ScheduleState.PARKED: Phase.LAUNCHING,
    ScheduleState.ALIVE_WAITING: Phase.RECOVERING,
    ScheduleState.ALIVE_BACKOFF: Phase.RECOVERING,
    ScheduleState.SUSPENDED: Phase.SUSPENDED,
    ScheduleState.DONE: Phase.SUCCEEDED,
}


def ago(seconds: float) -> datetime:
    """A moment before NOW."""
    return NOW - timedelta(seconds=seconds)


def make_job(
    uid: str = "job-1",
    state: ScheduleState = ScheduleState.WAITING,
    *,
    fence: str = "",
    namespace: str = "team-a",
    age: float = 60,
    spec: JobSpec | None = None,
    **status: Any,  # noqa: ANN401 -- any field of JobStatus
) -> Job:
    """A job in `state`, created `age` seconds ago, named like its uid."""
    controller = ControllerRef(pod_uid=fence) if fence else None
    phase = status.pop("phase", _PHASES[state])
    before = JobStatus(phase=phase, schedule=Schedule(state=state), controller=controller)
    return Job(
        namespace=namespace,
        name=uid,
        uid=uid,
        resource_version="100",
        created=ago(age),
        spec=spec or JobSpec(),
        status=replace(before, **status),
    )


def make_pod(
    uid: str = "pod-1",
    job: str = "job-1",
    *,
    predecessor: str = "",
    age: float = 1,
    **fields: Any,  # noqa: ANN401 -- any field of ControllerPod
) -> ControllerPod:
    """A controller pod of the job with that uid, on node `node-1`."""
    given = {"node_name": "node-1", "scheduled": True, **fields}
    return ControllerPod(
        name=f"{job}-{uid}",
        uid=uid,
        job_uid=job,
        job=JobKey("team-a", job),
        pool="default",
        predecessor=predecessor,
        created=ago(age),
        **given,
    )


def make_pool(launch: int = 8, run: int = 22, *, has_room: bool = True, **spec: Any) -> PoolFacts:  # noqa: ANN401 -- any field of PoolSpec
    """The pool `default` with these limits."""
    limits = PoolLimits(
        launch=launch,
        run=run,
        nodes=1,
        milli_cpu=2000,
        memory=8 << 30,
        launch_bound="cpu",
        run_bound="memory",
        why_none="none is ready" if not launch else "",
    )
    return PoolFacts(name="default", spec=PoolSpec(**spec), limits=limits, has_room=has_room)
