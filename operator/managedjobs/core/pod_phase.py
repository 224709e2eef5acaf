"""The phase of a pod."""

from __future__ import annotations

from enum import StrEnum


class PodPhase(StrEnum):
    """The phase of a pod, as Kubernetes names it."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"
