"""The cluster of a random history: one child Job, its pods, their nodes, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from managedjobs.core.driving.view import ChildJob, Container, Pod
from managedjobs.core.model import JobSpec
from managedjobs.core.pod_phase import PodPhase
from tests.support.driven import JOB_UID, NOW

GRACE = timedelta(seconds=30)


@dataclass
class Cluster:
    """What is truly there; it does by itself what the Job controller, garbage collector and kubelets would."""

    spec: JobSpec
    queued: bool = False
    """Whether a queue holds the child Job, and resumes it whoever suspended it."""
    now: datetime = NOW
    child: ChildJob | None = None
    pods: dict[str, Pod] = field(default_factory=dict)
    silent: dict[str, datetime] = field(default_factory=dict)
    """Nodes that do not answer, and since when."""
    made: int = 0

    def tidy(self) -> None:
        """What the Job controller and the garbage collector do by themselves."""
        child = self.child
        if child is None:
            return
        own = [pod for pod in self.pods.values() if pod.owner_uid == child.uid]
        replicas = self.spec.replicas
        done = {pod.index for pod in own if pod.phase is PodPhase.SUCCEEDED and pod.index is not None}
        if len(done) == replicas:
            child = replace(child, complete=True, over=True, completed_indexes=frozenset(done))
        elif any(pod.phase is PodPhase.FAILED for pod in own) and not child.suspended:
            child = replace(child, failed=True)
            for pod in own:
                self._ask_to_go(pod)
            child = replace(child, over=all(p.ended for p in self.pods.values() if p.owner_uid == child.uid))
        self.child = child
        if child.deleting and all(pod.ended or pod.owner_uid != child.uid for pod in self.pods.values()):
            self.child = None
            self.pods = {uid: pod for uid, pod in self.pods.items() if pod.owner_uid != child.uid}

    def suspend_child(self) -> None:
        """The child Job is suspended, by whomever: its pods are taken away."""
        if self.child is None or self.child.over or self.child.suspended:
            return
        self.child = replace(self.child, suspended=True, suspended_at=self.now)
        for pod in list(self.pods.values()):
            self._ask_to_go(pod)
        self.tidy()

    def resume_child(self) -> None:
        """The child Job is resumed by a queue."""
        child = self.child
        if child is not None and child.suspended and not (child.deleting or child.complete or child.failed):
            self.child = replace(child, suspended=False, resumed_at=self.now)
            self.make_pods()

    def delete_child(self) -> None:
        """The child Job is deleted in the foreground."""
        if self.child is not None and not self.child.deleting:
            self.child = replace(self.child, deleting=True)
            for pod in list(self.pods.values()):
                self._ask_to_go(pod)
            self.tidy()

    def pod_becomes(
        self, index: int, phase: PodPhase, *, code: int | None = None, disruption: str | None = None
    ) -> None:
        """A kubelet reports on the pod of that index."""
        pod = next((p for p in self.pods.values() if p.index == index and not p.ended), None)
        if pod is None or pod.node in self.silent:
            return
        container = Container(
            name="main",
            running=phase is PodPhase.RUNNING,
            exit_code=code,
            ended_at=self.now if code is not None else None,
        )
        self.pods[pod.uid] = replace(
            pod, phase=phase, containers=(container,), ready=phase is PodPhase.RUNNING, disruption=disruption
        )
        self.tidy()

    def node_falls_silent(self, index: int) -> None:
        """The node of that index does not answer any more."""
        self.silent.setdefault(f"node-{index}", self.now)
        for pod in list(self.pods.values()):
            if pod.node in self.silent and not pod.ended:
                self.pods[pod.uid] = replace(pod, ready=False, unready_reason="")

    def time_passes(self, seconds: int) -> None:
        """Time passes; pods whose grace period is over have ended, except on silent nodes."""
        self.now += timedelta(seconds=seconds)
        for pod in list(self.pods.values()):
            due = pod.deletion_due_at
            if due is not None and due <= self.now and not pod.ended and pod.node not in self.silent:
                ended = Container(name="main", exit_code=143, ended_at=due)
                self.pods[pod.uid] = replace(pod, phase=PodPhase.FAILED, containers=(ended,), ready=False)
        self.tidy()

    def make_pods(self) -> None:
        """The Job controller creates the pods of the child Job."""
        assert self.child is not None
        self.made += 1
        for index in range(self.spec.replicas):
            uid = f"pod-{self.made}-{index}"
            self.pods[uid] = Pod(
                name=uid,
                uid=uid,
                created=self.now,
                job_uid=JOB_UID,
                owner_uid=self.child.uid,
                index=index,
                node=f"node-{index}",
                scheduled_at=self.now,
                containers=(Container(name="main", waiting_reason="ContainerCreating"),),
            )

    def _ask_to_go(self, pod: Pod) -> None:
        if not pod.ended and not pod.deleting:
            self.pods[pod.uid] = replace(pod, deletion_asked_at=self.now, deletion_due_at=self.now + GRACE)

    def remove_pod(self, uid: str) -> None:
        """The object of a pod is removed without its kubelet's word."""
        pod = self.pods.get(uid)
        if pod is not None:
            assert pod.node in self.silent, "takes a pod away whose node answers"
            del self.pods[uid]
            self.tidy()
