"""What the operator knows of jobs and their controller pods, and what follows for each pool's line."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from managedjobs.core.model import Job, JobKey
from managedjobs.core.phases import ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.admission import Candidate
from managedjobs.core.scheduling.controller_pod import ControllerPod
from managedjobs.core.scheduling.order import order_key
from managedjobs.core.scheduling.usage import Standing, Want, controller_runs, standing
from managedjobs.core.scheduling.view import ChildState, ExpectedPod, OperatorView, VanishedPod
from managedjobs.kube.cache import is_newer
from managedjobs.scheduler.fleet import Fleet
from managedjobs.scheduler.lines import Line

_TOMBSTONES = 20_000
"""Deleted jobs that are remembered, so that a late event can't bring one back."""


class Store:
    """The latest known version of everything; `dirty` jobs are those to decide about.

    Every method takes what it needs of the time, and none waits: it belongs to one thread.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.fleet = Fleet()
        self.lines: dict[str, Line] = {}
        self.dirty: dict[str, None] = {}
        self.dirty_pools: set[str] = set()
        self._uids: dict[JobKey, str] = {}
        self._pods: dict[str, dict[str, ControllerPod]] = {}
        self._standings: dict[str, tuple[Standing, Candidate | None]] = {}
        self._expected: dict[str, ExpectedPod] = {}
        self._granting: set[str] = set()
        self._vanished: dict[str, tuple[VanishedPod, ...]] = {}
        self._absent_since: dict[str, datetime] = {}
        self._uncontrolled_since: dict[str, datetime] = {}
        self._child: dict[str, ChildState] = {}
        self._tombstones: OrderedDict[str, None] = OrderedDict()

    # --- jobs

    def put_job(self, job: Job, now: datetime, *, force: bool = False) -> bool:
        """Take a job over if it is newer than what is known; false when it is not."""
        if job.uid in self._tombstones and not force:
            return False
        known = self.jobs.get(job.uid)
        if known is not None and not force and not is_newer(job.resource_version, known.resource_version):
            return False
        former = self._uids.get(job.key)
        if former is not None and former != job.uid:
            if not is_newer(job.resource_version, self.jobs[former].resource_version):
                return False  # it went before the present one of that name was made
            self.remove_job(former, now)
        self.jobs[job.uid] = job
        self._uids[job.key] = job.uid
        self._absent_since.pop(job.uid, None)
        self._drop_obsolete_vanished(job)
        self._changed(job.uid, now)
        return True

    def remove_job(self, uid: str, now: datetime) -> None:
        """The job is gone for certain; its pods, if any, are swept."""
        self._tombstones[uid] = None
        if len(self._tombstones) > _TOMBSTONES:
            self._tombstones.popitem(last=False)
        job = self.jobs.pop(uid, None)
        if job is None:
            return
        if self._uids.get(job.key) == uid:
            del self._uids[job.key]
        for memory in (self._vanished, self._child, self._uncontrolled_since):
            memory.pop(uid, None)
        self._changed(uid, now)

    def job_at(self, key: JobKey) -> Job | None:
        """The job of that name."""
        uid = self._uids.get(key)
        return self.jobs.get(uid) if uid is not None else None

    def listed_jobs(
        self, jobs: Iterable[Job], unreadable: Iterable[JobKey], version: str, namespace: str | None, now: datetime
    ) -> list[str]:
        """Take over a consistent list (of one namespace, or of all); returns the uids that differed.

        What is missing in it is gone, unless it was written after `version`, the list's resourceVersion.
        """
        differing = []
        present = set()
        for job in jobs:
            present.add(job.uid)
            if self.put_job(job, now):
                differing.append(job.uid)
        exempt = set(unreadable)
        for uid, job in list(self.jobs.items()):
            is_covered = namespace is None or job.namespace == namespace
            if uid in present or not is_covered or job.key in exempt or is_newer(job.resource_version, version):
                continue
            self.remove_job(uid, now)
            differing.append(uid)
        return differing

    # --- controller pods

    def change_pod(self, old: ControllerPod | None, new: ControllerPod | None, now: datetime) -> None:
        """A controller pod appeared (`old` None), changed, or is gone (`new` None)."""
        if new is not None:
            asked = self._pods.get(new.job_uid, {}).get(new.uid)
            if asked is not None and asked.delete_asked is not None:
                new = replace(new, delete_asked=asked.delete_asked)
            self._pods.setdefault(new.job_uid, {})[new.uid] = new
            self._note_unschedulable(new)
        elif old is not None:
            pods = self._pods.get(old.job_uid, {})
            pods.pop(old.uid, None)
            if not pods:
                self._pods.pop(old.job_uid, None)
            self._forget_unschedulable(old)
            self.note_vanished(
                old.job_uid, VanishedPod(uid=old.uid, predecessor=old.predecessor, failed_at=old.failed_at), now
            )
        pod = new or old
        if pod is not None:
            self._changed(pod.job_uid, now)

    def note_vanished(self, job_uid: str, pod: VanishedPod, now: datetime) -> None:
        """A pod is known to be gone: if it was a claim, it keeps both slots until it is revoked."""
        job = self.jobs.get(job_uid)
        is_claim = job is not None and job.status.state is ScheduleState.WAITING
        if job is not None and is_claim and pod.predecessor == job.status.fence:
            self._vanished[job_uid] = (*self._vanished.get(job_uid, ()), pod)
            self._changed(job_uid, now)

    def ask_deletion(self, pod: ControllerPod, now: datetime) -> None:
        """Remember that the pod's deletion was asked for."""
        pods = self._pods.get(pod.job_uid, {})
        if pod.uid in pods:
            pods[pod.uid] = replace(pods[pod.uid], delete_asked=now)
            self.dirty[pod.job_uid] = None

    def has_pod(self, job_uid: str, pod_uid: str) -> bool:
        """Whether that controller pod is known."""
        return pod_uid in self._pods.get(job_uid, {})

    # --- what is under way

    def expect(self, job_uid: str, expected: ExpectedPod | None, now: datetime) -> None:
        """A controller pod was asked for (None: the request has its answer)."""
        if expected is None:
            self._expected.pop(job_uid, None)
        else:
            self._expected[job_uid] = expected
        self._changed(job_uid, now)

    def set_granting(self, job_uid: str, granting: bool, now: datetime) -> None:
        """A launch slot is being granted, or that write has its answer."""
        if granting:
            self._granting.add(job_uid)
        else:
            self._granting.discard(job_uid)
        self._changed(job_uid, now)

    def set_child(self, job_uid: str, child: ChildState) -> None:
        """What was seen of the child Job of a job that the operator ends."""
        self._child[job_uid] = child
        self.dirty[job_uid] = None

    def node_changed(self, name: str, now: datetime) -> None:
        """A node became ready or not: what its controller pods are worth may be another."""
        for uid, pods in list(self._pods.items()):
            if any(pod.node_name == name for pod in pods.values()):
                self._changed(uid, now)

    # --- reading

    def view(self, uid: str) -> OperatorView | None:
        """All that a decision about one job is made on; None: nothing is known of it, or left."""
        job = self.jobs.get(uid)
        pods = tuple(self._pods.get(uid, {}).values())
        if job is None and not pods:
            return None
        return OperatorView(
            uid=uid,
            key=job.key if job is not None else pods[0].job,
            job=job,
            pods=pods,
            expected=self._expected.get(uid),
            vanished=self._vanished.get(uid, ()),
            unready_since=self.fleet.unready_since,
            absent_since=self._absent_since.get(uid),
            uncontrolled_since=self._uncontrolled_since.get(uid),
            child=self._child.get(uid, ChildState.UNKNOWN),
        )

    def line(self, pool: str) -> Line:
        """The line of that pool, made when there is none."""
        line = self.lines.get(pool)
        if line is None:
            line = self.lines[pool] = Line(pool)
        return line

    def look_again(self, uid: str) -> None:
        """Nothing is under way for the job any more: if it wants a slot, its pool may have one for it."""
        known = self._standings.get(uid)
        if known is not None and known[1] is not None:
            self.dirty_pools.add(known[0].pool)

    def candidate_of(self, uid: str) -> Candidate | None:
        """The job's place in the order, if it wants a slot."""
        known = self._standings.get(uid)
        return known[1] if known else None

    def all_uids(self) -> Iterator[str]:
        """Every job that is known, or of which pods are left."""
        yield from self.jobs
        yield from (uid for uid in self._pods if uid not in self.jobs)

    # --- what follows from a change

    def _changed(self, uid: str, now: datetime) -> None:
        self.dirty[uid] = None
        view = self.view(uid)
        if view is None:
            self._absent_since.pop(uid, None)
            self._count(uid, None, None)
            return
        if view.job is None:
            self._absent_since.setdefault(uid, now)
        self._note_control(view, now)
        held = standing(view)
        if held is not None and uid in self._granting:
            held = replace(held, launch=True, want=None)
        candidate = None
        if held is not None and held.want is not None and view.job is not None:
            candidate = Candidate(order_key(view.job), uid, held.namespace, held.want)
        self._count(uid, held, candidate)

    def _note_control(self, view: OperatorView, now: datetime) -> None:
        job = view.job
        if job is not None and job.status.state.is_live and not controller_runs(view, job):
            self._uncontrolled_since.setdefault(view.uid, now)
        else:
            self._uncontrolled_since.pop(view.uid, None)

    def _count(self, uid: str, held: Standing | None, candidate: Candidate | None) -> None:
        before = self._standings.get(uid)
        after = (held, candidate) if held is not None else None
        if before != after:
            if before is not None:
                self._count_out(uid, *before)
            if held is not None:
                self.line(held.pool).add(held, candidate)
                self.dirty_pools.add(held.pool)
                self._standings[uid] = (held, candidate)
            if before is not None:
                self._drop_if_empty(before[0].pool)
        if held is not None:
            self._note_untold(uid, self.line(held.pool), candidate)

    def _count_out(self, uid: str, held: Standing, candidate: Candidate | None) -> None:
        line = self.line(held.pool)
        line.remove(held, candidate)
        line.untold.pop(uid, None)
        del self._standings[uid]
        self.dirty_pools.add(line.pool)

    def _drop_if_empty(self, pool: str) -> None:
        line = self.lines.get(pool)
        if line is not None and line.is_empty:
            del self.lines[pool]

    def _note_untold(self, uid: str, line: Line, candidate: Candidate | None) -> None:
        is_new = candidate is not None and candidate.want is Want.CLAIM
        if is_new and self.jobs[uid].status.reason == Reason.QUEUED:
            line.untold[uid] = None
        else:
            line.untold.pop(uid, None)

    def _drop_obsolete_vanished(self, job: Job) -> None:
        vanished = self._vanished.get(job.uid)
        if vanished is None:
            return
        left = tuple(pod for pod in vanished if pod.predecessor == job.status.fence)
        if left and job.status.state is ScheduleState.WAITING:
            self._vanished[job.uid] = left
        else:
            del self._vanished[job.uid]

    def _note_unschedulable(self, pod: ControllerPod) -> None:
        if pod.unschedulable is None:
            self._forget_unschedulable(pod)
        else:
            line = self.line(pod.pool)
            line.unschedulable[pod.uid] = pod.created
            self.dirty_pools.add(pod.pool)

    def _forget_unschedulable(self, pod: ControllerPod) -> None:
        line = self.lines.get(pod.pool)
        if line is not None and line.unschedulable.pop(pod.uid, None) is not None:
            self.dirty_pools.add(pod.pool)
            self._drop_if_empty(pod.pool)
