"""A status with every field there is, and the bounds of its texts and lists."""

from collections.abc import Callable

from tests.crds.objects import Manifest

TIME = "2030-01-02T03:04:05Z"

JOB_STATUS: Manifest = {
    "phase": "Recovering",
    "reason": "Preempted",
    "description": "Recovering: pod 2 was preempted on node gpu-7 (attempt 3).",
    "observedGeneration": 2,
    "conditions": [
        {
            "type": "Admitted",
            "status": "True",
            "reason": "Claimed",
            "message": "A controller pod has both slots.",
            "lastTransitionTime": TIME,
            "observedGeneration": 2,
        }
    ],
    "schedule": {
        "state": "AliveWaiting",
        "position": 1,
        "queueTime": TIME,
        "nextRetryTime": TIME,
        "leaderTerm": 7,
    },
    "controller": {
        "podName": "train-4f2a",
        "podUID": "b2f0a2a6-0000-4000-8000-000000000000",
        "nodeName": "node-1",
        "version": "0.1.0",
        "failures": 1,
        "lastFailureTime": TIME,
    },
    "currentAttempt": {
        "number": 3,
        "jobName": "train",
        "jobUID": "c2f0a2a6-0000-4000-8000-000000000000",
        "startTime": TIME,
        "upTime": TIME,
        "podsReady": 3,
        "podsWanted": 4,
    },
    "attempts": [
        {
            "number": 2,
            "startTime": TIME,
            "endTime": TIME,
            "ending": "Preempted",
            "exitCode": 137,
            "nodeName": "gpu-7",
            "jobName": "train",
            "message": "Pod 2 was preempted.",
        }
    ],
    "attemptCount": 3,
    "failureCount": 0,
    "recoveryCount": 2,
    "launchFailureCount": 0,
    "tasks": [
        {
            "name": "train",
            "phase": "Recovering",
            "currentAttempt": 3,
            "attemptCount": 3,
            "failureCount": 0,
            "recoveryCount": 2,
            "exitCode": 1,
            "startTime": TIME,
            "completionTime": TIME,
        }
    ],
    "startTime": TIME,
    "firstUpTime": TIME,
    "completionTime": TIME,
    "runningSeconds": 86400,
    "exitCode": 0,
    "logs": "s3://logs/default/train",
}

POOL_STATUS: Manifest = {
    "observedGeneration": 1,
    "nodes": 3,
    "cpu": "12",
    "memory": "48Gi",
    "launchLimit": 48,
    "runLimit": 132,
    "boundBy": "memory of the nodes",
    "launching": 4,
    "parked": 2,
    "alive": 20,
    "waiting": 9,
    "backoff": 1,
    "controllerMemoryP95": "31Mi",
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Counted",
            "message": "3 nodes count.",
            "lastTransitionTime": TIME,
            "observedGeneration": 1,
        }
    ],
}

_CONDITION = {
    "conditions[].type": 316,
    "conditions[].status": 16,
    "conditions[].reason": 1024,
    "conditions[].message": 32768,
}
JOB_TEXTS = {
    "phase": 64,
    "reason": 64,
    "description": 1024,
    **_CONDITION,
    "schedule.state": 64,
    "controller.podName": 253,
    "controller.podUID": 128,
    "controller.nodeName": 253,
    "controller.version": 64,
    "currentAttempt.jobName": 253,
    "currentAttempt.jobUID": 128,
    "attempts[].ending": 64,
    "attempts[].nodeName": 253,
    "attempts[].jobName": 253,
    "attempts[].message": 256,
    "tasks[].name": 63,
    "tasks[].phase": 64,
    "logs": 2048,
}
POOL_TEXTS = {"cpu": 64, "memory": 64, "boundBy": 256, "controllerMemoryP95": 64, **_CONDITION}

# A list, how many it may hold, and its items by number.
LISTS: dict[str, tuple[int, Callable[[int], Manifest]]] = {
    "conditions": (32, lambda n: {"type": f"C{n}", "status": "True"}),
    "attempts": (10, lambda n: {"number": n}),
    "tasks": (32, lambda n: {"name": f"t{n}"}),
}
