"""Jobs that the tests on kind run."""

from __future__ import annotations

from typing import Any

IMAGE = "managedjobs:dev"
STAY = "trap 'exit 0' TERM; sleep 3600 & wait"
"""A shell line that runs until it is told to end."""
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}}


def job(name: str, line: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 -- fields of the API have no type here
    """A ManagedJob that runs a shell line."""
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ManagedJob",
        "metadata": {"name": name},
        "spec": {"image": IMAGE, "entrypoint": line, "resources": SMALL} | spec,
    }


def pool(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 -- fields of the API have no type here
    """A ControllerPool with an explicit capacity for 8 launches and 22 runs, unless the spec says otherwise."""
    return {
        "apiVersion": "managedjobs.dev/v1alpha1",
        "kind": "ControllerPool",
        "metadata": {"name": name},
        "spec": {"capacity": {"cpu": 2, "memory": "7700Mi"}} | spec,
    }
