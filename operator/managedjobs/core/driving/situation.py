"""One pass of a controller: what it sees, who it is, what time it is, and the writes that follow from that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from managedjobs.core.attempts import current_attempt
from managedjobs.core.conditions import settle
from managedjobs.core.driving.observe import lost_nodes
from managedjobs.core.driving.steps import Wait, WriteStatus
from managedjobs.core.driving.view import ChildJob, Me, Pod, View
from managedjobs.core.model import Job, JobStatus
from managedjobs.core.note import Note
from managedjobs.core.phases import Phase, ScheduleState
from managedjobs.core.reasons import Reason
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded

NODE_RECHECK = timedelta(seconds=5)
"""How often a node that does not answer is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a decision is made on; the job is there and is ours to drive."""

    job: Job
    view: View
    me: Me
    now: datetime

    @property
    def status(self) -> JobStatus:
        """The job's status as it was seen."""
        return self.job.status

    @property
    def number(self) -> int:
        """The number of the current attempt."""
        return current_attempt(self.job.status).number

    @property
    def own_child(self) -> ChildJob | None:
        """The child Job, of whatever attempt, if it was made for this job."""
        child = self.view.child
        return child if child is not None and child.made_for(self.job.uid) else None

    @property
    def current_child(self) -> ChildJob | None:
        """The child Job of the current attempt, if it is there and is not being deleted."""
        child = self.own_child
        return child if child is not None and child.attempt == self.number and not child.deleting else None

    @property
    def own_running_pods(self) -> tuple[Pod, ...]:
        """Pods of this job, of whatever attempt, that may still run."""
        return tuple(pod for pod in self.view.pods if pod.job_uid == self.job.uid and not pod.ended)

    @property
    def child_ends_by_itself(self) -> bool:
        """Whether the Job controller ends the child Job: it has a backoffLimit of 0, so one failed pod is enough.

        To suspend it before that would take the failed pod away, and its log with it.
        """
        child = self.current_child
        if child is None or child.suspended or child.over:
            return False
        return child.failed or any(p.failing and p.owner_uid == child.uid for p in self.view.pods)

    @property
    def lost_nodes(self) -> frozenset[str]:
        """Nodes that are given up: gone, or silent for `nodeLost.timeoutSeconds` where the policy is Relaunch.

        With the policy Wait a silent node is never given up, only one that is gone.
        """
        policy = self.job.spec.recovery.node_lost
        if policy.relaunch:
            return lost_nodes(self.view.nodes, self.now, policy.timeout)
        return frozenset(node.name for node in self.view.nodes.values() if not node.exists)

    def write(self, status: JobStatus, note: Note | None = None) -> WriteStatus:
        """The write of a decided status, completed with what follows from it."""
        return WriteStatus(status=self._settled(status), note=note)

    def move(
        self,
        status: JobStatus,
        *,
        state: ScheduleState,
        phase: Phase,
        reason: Reason,
        description: str,
        next_retry_time: datetime | None = None,
        warning: bool = False,
    ) -> WriteStatus:
        """The write that moves the job to a state, with the Event that tells of it."""
        moved = replace(
            status,
            phase=phase,
            reason=reason.value,
            description=bounded(description, DESCRIPTION_LIMIT),
            schedule=replace(status.schedule, state=state, position=None, next_retry_time=next_retry_time),
        )
        return self.write(moved, Note(reason=reason.value, text=moved.description, warning=warning))

    def done(
        self, status: JobStatus, *, phase: Phase, reason: Reason, description: str, exit_code: int | None
    ) -> WriteStatus:
        """The write of the job's outcome."""
        return self.move(
            replace(status, exit_code=exit_code),
            state=ScheduleState.DONE,
            phase=phase,
            reason=reason,
            description=description,
            warning=phase is Phase.FAILED,
        )

    def say(self, reason: Reason, description: str, *, until: datetime | None = None) -> WriteStatus | Wait:
        """Keep the words up to date, within the budget for words; else wait, at most until then."""
        text = bounded(description, DESCRIPTION_LIMIT)
        if (text, reason) == (self.status.description, self.status.reason):
            return Wait(until)
        after = self.view.texts_after
        if after is not None and self.now < after:
            return Wait(earliest(until, after))
        status = replace(self.status, reason=reason.value, description=text)
        return WriteStatus(status=self._settled(status), text_only=True)

    def _settled(self, status: JobStatus) -> JobStatus:
        return settle(self.status, status, generation=self.job.generation, now=self.now)


def earliest(*moments: datetime | None) -> datetime | None:
    """The first of the moments that are given; None: none is."""
    return min((moment for moment in moments if moment is not None), default=None)
