"""Which slots a job holds, and what it wants: derived from objects, never counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from managedjobs.core.model import Job
from managedjobs.core.phases import ScheduleState
from managedjobs.core.pod_phase import PodPhase
from managedjobs.core.scheduling.view import OperatorView


class Want(StrEnum):
    """What a job waits for."""

    CLAIM = "Claim"
    """Both slots: it is new, or resumed."""
    GRANT = "Grant"
    """A launch slot: it is live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A job's part in its pool."""

    pool: str
    namespace: str
    launch: bool = False
    run: bool = False
    want: Want | None = None
    state: ScheduleState | None = None
    """None: the job is gone, its pods are not."""
    starting: bool = False
    """Claimed and not taken over yet."""


def standing(view: OperatorView) -> Standing | None:
    """What the job holds and wants; None: nothing, of no pool.

    A launch slot is held while launching, and from the claim to the takeover. A run slot is held while claimed or
    live, and by the pods of a job that is finished, suspended or gone: they use the memory.
    """
    job = view.job
    if job is None:
        if not view.pods:
            return None
        return Standing(pool=view.pods[0].pool, namespace=view.key.namespace, run=True)
    state = job.status.state
    holds_pods = bool(view.pods) or view.expected is not None
    if state is ScheduleState.WAITING:
        claimed = view.is_claimed()
        return Standing(
            pool=job.spec.pool,
            namespace=job.namespace,
            launch=claimed,
            run=claimed or holds_pods,
            want=Want.CLAIM if wants_claim(view, job) else None,
            state=state,
            starting=claimed,
        )
    return Standing(
        pool=job.spec.pool,
        namespace=job.namespace,
        launch=state is ScheduleState.LAUNCHING,
        run=state.is_live or holds_pods,
        want=Want.GRANT if state is ScheduleState.ALIVE_WAITING and wants_grant(view, job) else None,
        state=state,
    )


def wants_claim(view: OperatorView, job: Job) -> bool:
    """Whether a controller pod may be created for the waiting job as soon as both slots are free."""
    spec = job.spec
    at_rest = not view.pods and view.expected is None and not view.vanished
    asked = spec.cancel or spec.suspend or spec.managed_by is not None or bool(spec.unsupported) or job.deleting
    return at_rest and not asked


def wants_grant(view: OperatorView, job: Job) -> bool:
    """Whether the live job may get a launch slot: its controller runs, and nobody asked it to stop."""
    if job.spec.cancel or job.spec.suspend or job.deleting or job.spec.managed_by is not None:
        return False
    return controller_runs(view, job)


def controller_runs(view: OperatorView, job: Job) -> bool:
    """Whether the pod that holds the job's fence runs on a node that is in order."""
    fence = job.status.fence
    return any(
        pod.uid == fence
        and pod.phase is PodPhase.RUNNING
        and pod.deletion_time is None
        and pod.node_name not in view.unready_since
        for pod in view.pods
    )
