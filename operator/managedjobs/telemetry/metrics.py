"""The operator's metrics; the labels' values come from closed sets, or are names of pools."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()

LEADER = Gauge("managedjobs_leader", "1 while this operator leads, else 0.", registry=REGISTRY)
JOBS = Gauge("managedjobs_jobs", "Jobs by schedule state.", ["state"], registry=REGISTRY)
POOL_LIMIT = Gauge("managedjobs_pool_limit", "Slots of a pool.", ["pool", "slot"], registry=REGISTRY)
POOL_USED = Gauge("managedjobs_pool_used", "Slots of a pool in use.", ["pool", "slot"], registry=REGISTRY)
POOL_WAITING = Gauge("managedjobs_pool_waiting", "Jobs that want a slot of a pool.", ["pool"], registry=REGISTRY)
CLAIMS = Counter(
    "managedjobs_controller_pods_created", "Controller pods created, by kind.", ["kind"], registry=REGISTRY
)
STATUS_WRITES = Counter("managedjobs_status_writes", "Status writes that took effect.", ["why"], registry=REGISTRY)
CONFLICTS = Counter("managedjobs_conflicts", "Writes refused since the object had changed.", registry=REGISTRY)
ERRORS = Counter("managedjobs_api_errors", "Requests that failed, by error.", ["error"], registry=REGISTRY)
PASS_SECONDS = Histogram(
    "managedjobs_pass_seconds",
    "Duration of one pass of the scheduling loop.",
    registry=REGISTRY,
    buckets=(0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0),
)
CLAIM_SECONDS = Histogram(
    "managedjobs_claim_seconds",
    "From a job's queue time to its claim.",
    registry=REGISTRY,
    buckets=(0.05, 0.2, 1, 5, 30, 120, 600, 3600, 6 * 3600, 24 * 3600),
)


def exposition() -> bytes:
    """All metrics in the text format."""
    return generate_latest(REGISTRY)
