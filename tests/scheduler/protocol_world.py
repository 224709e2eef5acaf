"""A small world in which the operator's real decisions meet late, lost and repeated requests, and failing parts.

The API server is a few dictionaries; watches and requests are lists from which a test picks what arrives next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from managedjobs.api.names import controller_pod_name
from managedjobs.core.conditions import settle
from managedjobs.core.model import Job, JobStatus
from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.actions import (
    CheckAgainAt,
    CreateControllerPod,
    DeleteControllerPod,
    DeleteJob,
    Effect,
    StopChildJob,
    Why,
    WriteStatus,
)
from managedjobs.core.scheduling.admission import PoolFacts, admit, claim, grant
from managedjobs.core.scheduling.controller_pod import NODE_LOST_AFTER, ControllerPod
from managedjobs.core.scheduling.decide import decide
from managedjobs.core.scheduling.usage import Want
from managedjobs.core.scheduling.view import ChildState, ExpectedPod, VanishedPod
from managedjobs.kube.cache import Cache
from managedjobs.kube.objects import Listing, WatchEvent
from managedjobs.scheduler.alarm import Alarms
from managedjobs.scheduler.store import Store
from tests.scheduler.protocol_parts import PodObject, Request, Violation, as_object, check_limits, next_status
from tests.support.jobs import NOW, make_job, make_pool


@dataclass
class World:
    """The truth, what the operator knows of it, and what is under way."""

    facts: PoolFacts = field(default_factory=lambda: make_pool(1, 2))
    now: datetime = NOW
    version: int = 100
    serial: int = 0
    term: int = 1
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, ControllerPod] = field(default_factory=dict)
    """By name."""
    running: set[str] = field(default_factory=set)
    """Uids of pods whose process runs."""
    requests: list[Request] = field(default_factory=list)
    node_lost_since: datetime | None = None
    job_events: list[tuple[Job, bool]] = field(default_factory=list)
    pod_events: list[WatchEvent[PodObject]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start_operator()

    # --- the API server

    def put_job(self, job: Job) -> Job:
        self.version += 1
        job = replace(job, resource_version=str(self.version))
        self.jobs[job.name] = job
        self.job_events.append((job, False))
        self.check()
        return job

    def put_pod(self, pod: ControllerPod, kind: str = "MODIFIED") -> PodObject:
        self.version += 1
        pod = replace(pod, resource_version=str(self.version), delete_asked=None)
        if kind == "DELETED":
            self.pods.pop(pod.name, None)
        else:
            self.pods[pod.name] = pod
        item = as_object(pod)
        self.pod_events.append(WatchEvent(kind, item, pod.resource_version))  # type: ignore[arg-type]  # one of three
        self.check()
        return item

    def check(self) -> None:
        assert self.facts.limits is not None
        check_limits(self.jobs.values(), self.pods.values(), self.facts.limits)

    def write(self, job: Job, status: JobStatus) -> Job | None:
        """A status write decided on `job`; None: refused, the object is another by now."""
        present = self.jobs.get(job.name)
        if present is None or present.uid != job.uid or present.resource_version != job.resource_version:
            return None
        if present.status.state is ScheduleState.DONE:
            raise Violation(f"{job.name} was done already")
        return self.put_job(replace(present, status=status))

    # --- the operator

    def start_operator(self) -> None:
        """A new process: it reads all and remembers nothing. What the old one sent may still arrive."""
        self.store = Store()
        self.busy: set[str] = set()
        self.alarms = Alarms()
        self.cache: Cache[PodObject] = Cache(self._on_pod)
        self.job_events, self.pod_events = [], []
        for job in self.jobs.values():
            self.store.put_job(job, self.now)
        self._tell_of_node()
        self.cache.replace(Listing([as_object(pod) for pod in self.pods.values()], str(self.version)))

    def toggle_node(self) -> None:
        """The only node can't be reached, long enough to be given up; or it can again. Its programs run on."""
        self.node_lost_since = self.now - NODE_LOST_AFTER if self.node_lost_since is None else None
        self._tell_of_node()

    def _tell_of_node(self) -> None:
        self.store.fleet.unready_since.pop("n", None)
        if self.node_lost_since is not None:
            self.store.fleet.unready_since["n"] = self.node_lost_since
        self.store.node_changed("n", self.now)

    def _on_pod(self, old: PodObject | None, new: PodObject | None) -> None:
        self.store.change_pod(old.pod if old else None, new.pod if new else None, self.now)

    def look(self) -> None:
        """One pass over what changed, as the loop makes it."""
        for uid in self.alarms.due(self.now):
            self.store.dirty[uid] = None
        dirty, self.store.dirty = self.store.dirty, {}
        for uid in dirty:
            view = self.store.view(uid)
            if uid in self.busy or view is None:
                continue
            self.store.look_again(uid)
            effects: list[Effect] = []
            for action in decide(view, self.term, self.now):
                if isinstance(action, CheckAgainAt):
                    self.alarms.set(uid, action.moment)
                else:
                    effects.append(action)
            if effects:
                self.dispatch(uid, effects[0])
        changed, self.store.dirty_pools = self.store.dirty_pools, set()
        for line in [self.store.line(pool) for pool in changed]:
            free = [[c for c in queue if c.uid not in self.busy] for queue in (line.new, line.live)]
            for candidate in admit(self.facts, line.usage(), *free):
                job = self.store.jobs[candidate.uid]
                self.dispatch(job.uid, claim(job) if candidate.want is Want.CLAIM else grant(job, self.term, self.now))

    def dispatch(self, uid: str, effect: Effect) -> None:
        self.busy.add(uid)
        if isinstance(effect, CreateControllerPod):
            self.store.expect(uid, ExpectedPod(name="", predecessor=effect.predecessor), self.now)
        elif isinstance(effect, WriteStatus) and effect.why is Why.GRANT:
            self.store.set_granting(uid, granting=True, now=self.now)
        term, store = self.term, self.store

        def run() -> Callable[[], None]:
            answer = self._serve(uid, effect, term)

            def answered() -> None:
                if store is not self.store:
                    return  # it was an earlier process that asked
                answer()
                if isinstance(effect, CreateControllerPod):
                    store.expect(uid, None, self.now)
                elif isinstance(effect, WriteStatus) and effect.why is Why.GRANT:
                    store.set_granting(uid, granting=False, now=self.now)
                self.busy.discard(uid)
                store.dirty[uid] = None

            return answered

        self.requests.append(Request(run, f"operator/{term}"))

    def _serve(self, uid: str, effect: Effect, term: int) -> Callable[[], None]:
        match effect:
            case CreateControllerPod():
                return self._serve_create(effect, term)
            case DeleteControllerPod():
                return self._serve_delete(uid, effect)
            case WriteStatus():
                stale = effect.why is Why.GRANT and term != self.term
                written = None if stale else self.write(effect.job, effect.status)
                return lambda: self._take(effect.job, written)
            case StopChildJob():
                return lambda: self.store.set_child(uid, ChildState.STOPPED)
            case DeleteJob():
                return lambda: None

    def _serve_create(self, effect: CreateControllerPod, term: int) -> Callable[[], None]:
        job = effect.job
        present = self.jobs.get(job.name)
        is_same = present is not None and present.uid == job.uid and present.resource_version == job.resource_version
        if (effect.read_first and not is_same) or term != self.term:
            return lambda: self._take(job, None)
        name = controller_pod_name(job.name, job.uid, effect.predecessor)
        known = self.pods.get(name)
        if known is not None:
            item = as_object(known)
        else:
            self.serial += 1
            made = ControllerPod(
                name=name,
                uid=f"p{self.serial}",
                job_uid=job.uid,
                job=job.key,
                pool="default",
                predecessor=effect.predecessor,
                created=self.now,
                node_name="n",
                scheduled=True,
                phase=PodPhase.RUNNING,
            )
            self.running.add(made.uid)
            item = self.put_pod(made, "ADDED")

        def answered() -> None:
            self.cache.offer(item)
            pod = item.pod
            if not self.store.has_pod(pod.job_uid, pod.uid):
                self.store.note_vanished(pod.job_uid, VanishedPod(uid=pod.uid, predecessor=pod.predecessor), self.now)

        return answered

    def _serve_delete(self, uid: str, effect: DeleteControllerPod) -> Callable[[], None]:
        present = self.jobs.get(effect.key.name)
        same = present if present is not None and present.uid == uid else None
        if effect.expect_version is not None and effect.expect_version != (same.resource_version if same else ""):
            return lambda: self._take_present(effect.key.name, uid)
        self.remove_pod(effect.pod.uid)
        return lambda: None

    def _take(self, job: Job, written: Job | None) -> None:
        if written is not None:
            self.store.put_job(written, self.now)
        else:
            self._take_present(job.name, job.uid)

    def _take_present(self, name: str, uid: str) -> None:
        present = self.jobs.get(name)
        if present is None or present.uid != uid:
            self.store.remove_job(uid, self.now)
        if present is not None:
            self.store.put_job(present, self.now)

    # --- controllers

    def act(self, pod: ControllerPod) -> None:
        """The pod's program looks at its job and sends the one request that follows, or leaves."""
        job = self.jobs.get(pod.job.name)
        if job is None or job.uid != pod.job_uid or job.status.state in (ScheduleState.DONE, ScheduleState.SUSPENDED):
            self.end_pod(pod, PodPhase.SUCCEEDED)
            return
        status = next_status(pod, job)
        if status is None:
            if job.status.fence not in (pod.uid, pod.predecessor):
                self.end_pod(pod, PodPhase.SUCCEEDED)
            return
        settled = settle(job.status, status, generation=1, now=self.now)

        def run() -> Callable[[], None]:
            self.write(job, settled)
            return lambda: None

        self.requests.append(Request(run, pod.uid))

    def end_pod(self, pod: ControllerPod, phase: PodPhase) -> None:
        """The program ends; what it sent may still arrive."""
        self.running.discard(pod.uid)
        if pod.name in self.pods and self.pods[pod.name].uid == pod.uid:
            self.put_pod(replace(self.pods[pod.name], phase=phase))

    def remove_pod(self, uid: str) -> None:
        """The object goes, and its token with it: the program can send nothing any more."""
        self.running.discard(uid)
        for pod in list(self.pods.values()):
            if pod.uid == uid:
                self.put_pod(pod, "DELETED")

    # --- users

    def make(self, name: str) -> None:
        self.serial += 1
        job = make_job(f"u{self.serial}")
        self.put_job(replace(job, name=name, created=self.now))

    def respec(self, name: str, **fields: bool) -> None:
        job = self.jobs[name]
        self.put_job(replace(job, spec=replace(job.spec, **fields)))

    def delete(self, name: str) -> None:
        job = self.jobs.pop(name)
        self.job_events.append((job, True))

    # --- delivery

    def deliver_job_event(self, index: int = 0) -> None:
        job, deleted = self.job_events.pop(index)
        if deleted:
            self.store.remove_job(job.uid, self.now)
        else:
            self.store.put_job(job, self.now)

    def deliver_pod_event(self) -> None:
        self.cache.apply(self.pod_events.pop(0))

    def deliver(self, request: Request, *, lose_answer: bool = False) -> None:
        """It arrives. With its answer lost, the very same is sent again."""
        answered = request.run()
        if lose_answer and not request.repeated:
            request.repeated = True
            return
        self.requests.remove(request)
        answered()

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
