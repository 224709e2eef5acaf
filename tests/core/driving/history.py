"""A small world in which one controller after the other drives a job, and what must never happen in it.

The world is what the API server and the cluster would be: it refuses what they refuse. The controller sees it
through caches that lag until they are told, as in the program; each of its steps is carried out at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from managedjobs.core.attempts import begin_attempt, current_attempt, has_ended
from managedjobs.core.conditions import settle
from managedjobs.core.driving.lifecycle import decide_step
from managedjobs.core.driving.steps import (
    CreateChildJob,
    CreateService,
    DeleteChildJob,
    DeletePod,
    Exit,
    Look,
    ReadLastLine,
    Step,
    StopChildJob,
    Wait,
    WriteStatus,
)
from managedjobs.core.driving.view import ChildJob, Me, Node, Pod, Refusal, Service, View
from managedjobs.core.model import Job, JobStatus, Schedule
from managedjobs.core.phases import LEGAL, Phase, ScheduleState
from managedjobs.core.reasons import Reason
from tests.core.driving.cluster import Cluster
from tests.support.driven import JOB_UID

STEPS_IN_A_ROW = 40
"""More steps without an event than any job needs: the controller runs in circles."""


@dataclass
class History(Cluster):
    """The true state of things, what the caches show of it, and who drives."""

    job: Job | None = None
    service: Service | None = None
    refusal: Refusal | None = None
    me: Me = field(default_factory=lambda: Me(pod_uid="c1", pod_name="c1", job_uid=JOB_UID))
    gone: bool = False
    """Whether the controller has left."""
    seen_job: Job | None = None
    seen_child: ChildJob | None = None
    seen_pods: tuple[Pod, ...] = ()
    lines: dict[tuple[str, str], str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A job that nobody has looked at yet."""
        self.job = Job(
            namespace="n", name="train", uid=JOB_UID, resource_version="1", created=self.now, spec=self.spec
        )
        self.sync()

    # What the controller does.

    def settle_down(self, *, lagging: bool) -> None:
        """Let the controller act until it waits or leaves."""
        for _ in range(STEPS_IN_A_ROW):
            if self.gone:
                return
            step = decide_step(self._cached(), self.me, self.now)
            if isinstance(step, Look):
                step = decide_step(self._live(), self.me, self.now)
                assert not isinstance(step, Look), "a live look is never followed by another"
            if isinstance(step, Wait):
                assert step.until is None or step.until > self.now, "waits for a moment that has passed"
                if self._caches_are_true():
                    return
                self.sync()
                continue
            again = bool(self.steps) and step == self.steps[-1]
            self._do(step)
            if again or not lagging:
                self.sync()  # the program, too, does the same once more only after it has waited for the watches
        raise AssertionError(f"runs in circles: {self.steps[-6:]}")

    def _do(self, step: Step) -> None:
        self.steps.append(step)
        match step:
            case WriteStatus():
                self._write(step)
            case CreateChildJob():
                self._create(step)
            case CreateService():
                self.service = self.service or Service(name="train-peers", owner_uid=JOB_UID)
            case StopChildJob(uid=uid):
                self._stop(uid)
                self.seen_child = self.child or self.seen_child
            case DeleteChildJob(uid=uid):
                self._delete(uid)
                if self.seen_child is not None and self.seen_child.uid == uid:
                    self.seen_child = replace(self.seen_child, deleting=True)
            case DeletePod(uid=uid):
                self.remove_pod(uid)
            case ReadLastLine():
                self.lines[(step.pod_uid, step.container)] = "bye"
            case Exit():
                self.gone = True
            case _:
                raise AssertionError(f"an impossible step: {step}")

    def _write(self, step: WriteStatus) -> None:
        before, seen = self.job, self.seen_job
        assert seen is not None
        if before is None or before.resource_version != seen.resource_version:
            self.seen_job = before  # 409 or 404: read again, decide again
            return
        old, new = before.status, step.status
        assert old.fence in (self.me.pod_uid, self.me.predecessor), "writes without the fence"
        assert new.fence == self.me.pod_uid
        assert old.state is not ScheduleState.DONE, "no transition leaves Done"
        assert new.state is old.state or new.state in LEGAL[old.state]
        assert new.reason in {reason.value for reason in Reason}
        assert 0 < len(new.description) <= 1024 or new.description == old.description
        assert new.failure_count <= new.attempt_count
        assert new.attempt_count >= old.attempt_count
        if new.state is ScheduleState.DONE:
            assert not self._ours_run() or (self.child and (self.child.failed or self.child.complete))
        self._store(new)
        self.seen_job = self.job

    def _create(self, step: CreateChildJob) -> None:
        if self.child is not None:
            return  # AlreadyExists
        assert self.job is not None
        status = self.job.status
        assert status.state is ScheduleState.LAUNCHING, "creates while it may not"
        assert step.attempt == current_attempt(status).number == status.attempt_count, "creates what is not written"
        assert not has_ended(status)
        assert not any(not pod.ended for pod in self.pods.values()), "creates while pods of the name may run"
        self.made += 1
        self.child = ChildJob(
            name="train",
            uid=f"child-{self.made}",
            created=self.now,
            owner_uid=JOB_UID,
            owner_is_managed_job=True,
            job_uid=JOB_UID,
            attempt=step.attempt,
            queued=self.queued,
        )
        self.make_pods()

    def _stop(self, uid: str) -> None:
        if self.child is None or self.child.uid != uid:
            return
        assert self.job is not None
        status = self.job.status
        announced = status.phase in (Phase.CANCELLING, Phase.SUSPENDING) or has_ended(status)
        assert announced, "stops pods before it has said so"
        self.suspend_child()

    def _delete(self, uid: str) -> None:
        if self.child is None or self.child.uid != uid:
            return
        if self.job is not None and not self.job.deleting:
            number = current_attempt(self.job.status).number
            assert self.child.attempt is not None
            assert self.child.attempt < number or has_ended(self.job.status), "deletes before the ending is written"
        self.delete_child()

    # What the operator and the user do.

    def grant(self) -> None:
        """The operator gives the launch slot."""
        if self.job is None or self.job.status.state is not ScheduleState.ALIVE_WAITING:
            return
        opened = begin_attempt(self.job.status, job_name="train", replicas=self.spec.replicas, now=self.now)
        schedule = Schedule(state=ScheduleState.LAUNCHING)
        self._operator_writes(replace(opened, reason="Launching", schedule=schedule))

    def resume(self) -> None:
        """The operator queues a suspended job again; a new controller is made for it."""
        job = self.job
        if job is None or job.status.state is not ScheduleState.SUSPENDED or job.spec.suspend:
            return
        schedule = Schedule(state=ScheduleState.WAITING, queue_time=self.now)
        self._operator_writes(replace(job.status, phase=Phase.PENDING, reason="Queued", schedule=schedule))
        self.hand_over()

    def end_without_controller(self) -> None:
        """The operator ends a job that waits, or is suspended, and was cancelled."""
        job = self.job
        if job is not None and job.spec.cancel and not job.status.state.is_live and not job.status.phase.is_finished:
            schedule = Schedule(state=ScheduleState.DONE)
            self._operator_writes(
                replace(job.status, phase=Phase.CANCELLED, reason="Cancelled", description="-", schedule=schedule)
            )

    def hand_over(self) -> None:
        """The controller dies where it stands; its successor begins with fresh caches."""
        number = int(self.me.pod_uid[1:]) + 1
        fence = self.job.status.fence if self.job else ""
        self.me = replace(self.me, pod_uid=f"c{number}", pod_name=f"c{number}", predecessor=fence)
        self.gone = False
        self.sync()

    def change_spec(self, **wishes: bool) -> None:
        """The user changes the spec."""
        if self.job is not None:
            self.job = replace(self.job, spec=replace(self.job.spec, **wishes), resource_version=self._next_version())

    def delete_job(self) -> None:
        """The user deletes the job, without its child Job."""
        self.job = None

    def sync(self) -> None:
        """The watches bring everything."""
        self.seen_job, self.seen_child, self.seen_pods = self.job, self.child, tuple(self.pods.values())

    def _operator_writes(self, status: JobStatus) -> None:
        assert self.job is not None
        self._store(settle(self.job.status, status, generation=1, now=self.now))

    def _store(self, status: JobStatus) -> None:
        assert self.job is not None
        self.job = replace(self.job, status=status, resource_version=self._next_version())

    def _next_version(self) -> str:
        assert self.job is not None
        return str(int(self.job.resource_version) + 1)

    def _ours_run(self) -> bool:
        return any(not pod.ended for pod in self.pods.values())

    def _caches_are_true(self) -> bool:
        return (self.seen_job, self.seen_child, self.seen_pods) == (self.job, self.child, tuple(self.pods.values()))

    def _nodes(self) -> dict[str, Node]:
        return {name: Node(name=name, unreachable_since=since) for name, since in self.silent.items()}

    def _cached(self) -> View:
        return self._view(self.seen_job, self.seen_child, self.seen_pods, fresh=False)

    def _live(self) -> View:
        self.seen_job = self.job
        return self._view(self.job, self.child, tuple(self.pods.values()), fresh=True)

    def _view(self, job: Job | None, child: ChildJob | None, pods: tuple[Pod, ...], *, fresh: bool) -> View:
        return View(
            job=job,
            child=child,
            pods=pods,
            service=self.service if fresh else None,
            nodes=self._nodes(),
            fresh=fresh,
            refusal=self.refusal,
            last_lines=self.lines,
        )
