"""What a controller sees, as values, with only what a test cares about spelled out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from managedjobs.core.attempts import begin_attempt
from managedjobs.core.driving.launch_rules import come_up
from managedjobs.core.driving.observe import Launch
from managedjobs.core.driving.view import ChildJob, Container, Me, Pod, View
from managedjobs.core.model import ControllerRef, Job, JobSpec, JobStatus, Schedule
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.pod_phase import PodPhase

NOW = datetime.fromisoformat("2026-03-04T12:00:00Z")
JOB_UID = "job-uid"
ME = Me(pod_uid="me", pod_name="train-me", job_uid=JOB_UID, node_name="node-c", predecessor="before", version="9")


def ago(seconds: float) -> datetime:
    """A moment before NOW."""
    return NOW - timedelta(seconds=seconds)


def driven(
    state: ScheduleState = ScheduleState.ALIVE,
    *,
    fence: str = "me",
    spec: JobSpec | None = None,
    attempt: int = 1,
    started: float = 600,
    **status: Any,  # noqa: ANN401 -- any field of JobStatus
) -> Job:
    """The job `train` in that state, its current attempt begun `started` seconds ago and, where Alive, up since."""
    spec = spec or JobSpec()
    now = ago(started)
    before = JobStatus(attempt_count=attempt - 1, controller=ControllerRef(pod_uid=fence) if fence else None)
    if state is not ScheduleState.WAITING:
        before = begin_attempt(before, job_name="train", replicas=spec.replicas, now=now)
    phase = Phase.LAUNCHING
    if state is ScheduleState.ALIVE:
        before = come_up(before, launch(spec.replicas), "child-uid", now)
        phase = Phase.RUNNING
    if state in (ScheduleState.ALIVE_BACKOFF, ScheduleState.ALIVE_WAITING):
        phase = Phase.RECOVERING
    given = {"phase": phase, "reason": "Launching", "schedule": Schedule(state=state), **status}
    fields = {name: getattr(before, name) for name in JobStatus.__dataclass_fields__}
    return Job(
        namespace="team-a",
        name="train",
        uid=JOB_UID,
        resource_version="7",
        generation=2,
        created=ago(1000),
        spec=spec,
        status=JobStatus(**{**fields, **given}),
    )


def launch(replicas: int = 1) -> Launch:
    """A launch that is up."""
    return Launch(
        wanted=replicas,
        started=replicas,
        ready=replicas,
        waiting=(),
        quiet_since=ago(600),
        holding_since=ago(600),
        main_node="node-0",
    )


def child(attempt: int = 1, *, age: float = 600, **fields: Any) -> ChildJob:  # noqa: ANN401 -- any field of ChildJob
    """The child Job of that attempt."""
    given = {"owner_uid": JOB_UID, "owner_is_managed_job": True, "job_uid": JOB_UID, **fields}
    return ChildJob(name="train", uid=given.pop("uid", "child-uid"), created=ago(age), attempt=attempt, **given)


def pod(index: int = 0, *, age: float = 600, **fields: Any) -> Pod:  # noqa: ANN401 -- any field of Pod
    """A pod of the child Job, running on its own node unless said otherwise."""
    running = fields.get("phase", PodPhase.RUNNING) is PodPhase.RUNNING
    given = {
        "phase": PodPhase.RUNNING,
        "node": f"node-{index}",
        "scheduled_at": ago(age),
        "ready": running,
        "containers": (Container(name="main", running=running),),
        **fields,
    }
    return Pod(
        name=f"train-{index}-abcde",
        uid=f"pod-{index}",
        created=ago(age),
        job_uid=JOB_UID,
        owner_uid="child-uid",
        index=index,
        **given,
    )


def failed_pod(index: int = 0, exit_code: int = 1, *, seconds_ago: float = 10, **fields: Any) -> Pod:  # noqa: ANN401 -- any field of Pod
    """A pod whose main container failed."""
    container = {
        key.removeprefix("container_"): fields.pop(key) for key in list(fields) if key.startswith("container_")
    }
    ended = Container(name=container.pop("name", "main"), exit_code=exit_code, ended_at=ago(seconds_ago), **container)
    return pod(index, phase=PodPhase.FAILED, containers=(ended,), **fields)


def pending_pod(index: int = 0, *, age: float = 600, **fields: Any) -> Pod:  # noqa: ANN401 -- any field of Pod
    """A pod that has no node yet."""
    given = {"node": None, "scheduled_at": None, "containers": (Container(name="main"),), **fields}
    return pod(index, age=age, phase=PodPhase.PENDING, **given)


def view(job: Job | None, *pods: Pod, child: ChildJob | None = None, fresh: bool = True, **more: Any) -> View:  # noqa: ANN401 -- any field of View
    """What is seen of that job; live, unless said otherwise."""
    return View(job=job, child=child, pods=pods, fresh=fresh, **more)
