"""Fake nodes for a control plane: pods on them become Running, and pods of Jobs end, as `kwok-stages.yaml` says."""

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.cluster import processes, programs
from tests.cluster.cache import HERE, Cache
from tests.cluster.console import ClusterError
from tests.cluster.processes import Process

_SELECTOR: Final = "kwok.x-k8s.io/node=fake"
STAGES: Final = HERE / "kwok-stages.yaml"
READY_SECONDS: Final = 60


def node(name: str, capacity: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, Any]:
    """The manifest of a fake node."""
    key, _, value = _SELECTOR.partition("=")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {key: value},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok", **labels},
        },
        "status": {"capacity": dict(capacity), "allocatable": dict(capacity)},
    }


def add_nodes(
    kubeconfig: Path,
    count: int,
    *,
    prefix: str = "fake",
    cpu: str = "32",
    memory: str = "256Gi",
    pods: str = "1000",
    labels: Mapping[str, str] | None = None,
) -> list[str]:
    """Adds fake nodes `PREFIX-0`… and waits until they are ready; those already there stay. Returns their names."""
    names = [f"{prefix}-{number}" for number in range(count)]
    capacity = {"cpu": cpu, "memory": memory, "pods": pods}
    items = [node(name, capacity, labels or {}) for name in names]
    _kubectl(kubeconfig, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    ready = ("wait", "--for=condition=Ready", f"--timeout={READY_SECONDS}s")
    _kubectl(kubeconfig, *ready, *(f"node/{name}" for name in names))
    return names


def up(kubeconfig: Path) -> Process:
    """Starts kwok against the cluster of this kubeconfig, to run until `down`; one that runs already is kept."""
    present = _load(kubeconfig)
    if present and present.alive:
        return present
    process = start(kubeconfig, bound=False)
    _state(kubeconfig).write_text(json.dumps(asdict(process)))
    return process


def down(kubeconfig: Path) -> bool:
    """Ends kwok; False if it did not run. The nodes stay, and become NotReady after a while."""
    present = _load(kubeconfig)
    _state(kubeconfig).unlink(missing_ok=True)
    if present is None or not present.alive:
        return False
    processes.stop([present])
    return True


def start(kubeconfig: Path, *, bound: bool, stages: Path = STAGES) -> Process:
    """Starts kwok. `stages`: a file of Stage objects that say what becomes of nodes and pods."""
    program = programs.path_of("kwok", Cache.default())
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        *("--manage-all-nodes=false", f"--manage-nodes-with-annotation-selector={_SELECTOR}"),
        *(f"--config={stages}", "--node-lease-duration-seconds=40", "--cidr=10.0.0.1/8"),
    ]
    return processes.start(command, kubeconfig.parent / "kwok.log", bound=bound)


@contextlib.contextmanager
def kwok(kubeconfig: Path, nodes: int = 1, stages: Path = STAGES) -> Iterator[list[str]]:
    """Fake nodes for as long as it is entered, by a kwok that the kernel ends with this thread; yields their names."""
    process = start(kubeconfig, bound=True, stages=stages)
    try:
        yield add_nodes(kubeconfig, nodes)
    finally:
        processes.stop([process])


def _load(kubeconfig: Path) -> Process | None:
    try:
        return Process(**json.loads(_state(kubeconfig).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _state(kubeconfig: Path) -> Path:
    return kubeconfig.parent / "kwok.json"


def _kubectl(kubeconfig: Path, *args: str, stdin: str | None = None) -> None:
    program = programs.path_of("kubectl", Cache.default())
    done = subprocess.run(
        [program, f"--kubeconfig={kubeconfig}", *args], input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode:
        log = kubeconfig.parent / "kwok.log"
        said = log.read_text(errors="replace")[-1500:] if log.exists() else ""
        raise ClusterError(f"`kubectl {args[0]}` for fake nodes: {done.stderr}\nthe end of {log}:\n{said}")
