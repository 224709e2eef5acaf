"""What moves in the small world: pods on a watch, requests under way, and what a controller writes next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from managedjobs.core.model import ControllerRef, CurrentAttempt, Job, JobStatus
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.limits import PoolLimits
from managedjobs.kube.objects import ObjectMeta

OLD = 130.0
"""Seconds after which a claim is overdue."""


@dataclass(frozen=True)
class PodObject:
    """A controller pod as a watch carries it."""

    metadata: ObjectMeta
    pod: ControllerPod


@dataclass
class Request:
    """Something an operator or a controller has sent."""

    run: Callable[[], Callable[[], None]]
    """Takes effect at the server and returns what the sender does with the answer."""
    sender: str
    """`operator/<term>` or the uid of a pod."""
    repeated: bool = False


@dataclass
class Violation(Exception):  # noqa: N818 -- what the test looks for, not an accident
    """An invariant that does not hold."""

    what: str


def as_object(pod: ControllerPod) -> PodObject:
    meta = ObjectMeta(name=pod.name, namespace="release", uid=pod.uid, resource_version=pod.resource_version)
    return PodObject(meta, pod)


def next_status(pod: ControllerPod, job: Job) -> JobStatus | None:
    """What a controller writes next; None: nothing."""
    status = job.status
    if status.fence != pod.uid:
        if status.fence != pod.predecessor:
            return None
        controller = ControllerRef(pod_uid=pod.uid)
        if status.state is not ScheduleState.WAITING:
            return replace(status, controller=controller)
        launching = moved(status, ScheduleState.LAUNCHING, Phase.LAUNCHING)
        return replace(launching, controller=controller, current_attempt=CurrentAttempt(number=1), attempt_count=1)
    if job.spec.cancel:
        return moved(status, ScheduleState.DONE, Phase.CANCELLED)
    if job.spec.suspend:
        return moved(status, ScheduleState.SUSPENDED, Phase.SUSPENDED)
    match status.state:
        case ScheduleState.LAUNCHING:
            return moved(status, ScheduleState.ALIVE, Phase.RUNNING)
        case ScheduleState.ALIVE if status.attempt_count < 2:
            return moved(status, ScheduleState.ALIVE_WAITING, Phase.RECOVERING)
        case ScheduleState.ALIVE:
            return moved(status, ScheduleState.DONE, Phase.SUCCEEDED)
        case _:
            return None


def moved(status: JobStatus, state: ScheduleState, phase: Phase) -> JobStatus:
    return replace(status, schedule=replace(status.schedule, state=state), phase=phase)


def check_limits(jobs: Iterable[Job], pods: Iterable[ControllerPod], limits: PoolLimits) -> None:
    """Invariant 1, on the truth alone: claimed jobs launch and live as well."""
    there = list(jobs)
    claims = {(pod.job_uid, pod.predecessor) for pod in pods if not pod.ended}
    claimed = {
        job.name
        for job in there
        if job.status.state is ScheduleState.WAITING and (job.uid, job.status.fence) in claims
    }
    launching = claimed | {job.name for job in there if job.status.state is ScheduleState.LAUNCHING}
    live = claimed | {job.name for job in there if job.status.state.is_live}
    if len(launching) > limits.launch:
        raise Violation(f"launching: {sorted(launching)}")
    if len(live) > limits.run:
        raise Violation(f"live: {sorted(live)}")
