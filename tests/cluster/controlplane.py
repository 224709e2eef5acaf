"""A real control plane without nodes: etcd, API server, controllers, scheduler. Ready in about 4 s.

`up` and `down` for people: it runs until it is taken down. `control_plane()` for tests: the kernel kills its processes
when the test's thread ends, however it ends, and what a dead owner left on disk is removed by the next start.
"""

import contextlib
import json
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.cluster import certificates, processes, programs
from tests.cluster.cache import Cache
from tests.cluster.console import ClusterError, wait_until
from tests.cluster.controlplane_parts import ORDER, Ports, commands, kubeconfig
from tests.cluster.processes import Process
from tests.cluster.recipes import CONTROL_PLANE

READY_SECONDS = 60.0
_STATE = "state.json"


@dataclass
class ControlPlane:
    """A control plane in a directory. `owner` is None for one that runs until it is taken down."""

    directory: Path
    ports: Ports
    owner: Process | None = None
    running: dict[str, Process] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        """Where the kubeconfig of its administrator is."""
        return self.directory / "kubeconfig"

    @property
    def server(self) -> str:
        """The address of its API server."""
        return f"https://127.0.0.1:{self.ports.api}"

    @property
    def healthy(self) -> bool:
        """Whether every part runs and the API server says that it is ready."""
        return (
            set(self.running) == set(ORDER) and all(p.alive for p in self.running.values()) and self.answers("/readyz")
        )

    def answers(self, path: str) -> bool:
        """Whether the API server answers this path with 200 to the administrator."""
        context = ssl.create_default_context(cafile=self.directory / "pki" / "ca.crt")
        context.load_cert_chain(self.directory / "pki" / "admin.crt", self.directory / "pki" / "admin.key")
        try:
            with urllib.request.urlopen(self.server + path, context=context, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def start(self, part: str) -> None:
        """Starts one part (again); for the API server also waits until it is ready."""
        cache = Cache.default()
        command = commands(self.directory, self.ports, programs.ensure(CONTROL_PLANE, cache))[part]
        log = self.directory / f"{part}.log"
        self.running[part] = processes.start(command, log, bound=self.owner is not None)
        self.save()
        if part == "kube-apiserver":
            wait_until(lambda: self._up_or_dead(part), f"{part} ready", READY_SECONDS)

    def kill(self, part: str) -> None:
        """Ends one part at once, as a crash would."""
        processes.stop([self.running[part]])

    def stop(self) -> None:
        """Ends all parts; the directory stays."""
        processes.stop(self.running.values())
        self.running = {}

    def save(self) -> None:
        """Writes down what runs, for the next run of this program to find."""
        state = {
            "ports": asdict(self.ports),
            "owner": asdict(self.owner) if self.owner else None,
            "running": {name: asdict(process) for name, process in self.running.items()},
        }
        (self.directory / _STATE).write_text(json.dumps(state, indent=1))

    @classmethod
    def load(cls, directory: Path) -> "ControlPlane | None":
        """The control plane that was written down in this directory; None without one, or with half of one."""
        try:
            state = json.loads((directory / _STATE).read_text())
            owner = Process(**state["owner"]) if state["owner"] else None
            running = {name: Process(**process) for name, process in state["running"].items()}
            return cls(directory, Ports(**state["ports"]), owner, running)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _up_or_dead(self, part: str) -> bool:
        if not self.running[part].alive:
            log = self.directory / f"{part}.log"
            raise ClusterError(
                f"{part} ended while starting; the end of {log}:\n{log.read_text(errors='replace')[-2000:]}"
            )
        return self.answers("/readyz")


def up(directory: Path, port: int | None = None, owner: Process | None = None) -> ControlPlane:
    """The control plane of this directory: the one that runs there, or a new one after what was left of the last."""
    present = ControlPlane.load(directory)
    if present and present.healthy and port in (None, present.ports.api):
        return present
    down(directory)
    directory.mkdir(parents=True, exist_ok=True)
    plane = ControlPlane(directory, Ports.free(port), owner)
    plane.save()
    try:
        certificates.make(directory / "pki")
        plane.kubeconfig.write_text(kubeconfig(plane.server, directory / "pki"))
        plane.kubeconfig.chmod(0o600)
        for part in ORDER:
            plane.start(part)
        account = "/api/v1/namespaces/default/serviceaccounts/default"  # without it a pod is refused
        wait_until(lambda: plane.answers(account), "service account `default`", READY_SECONDS)
    except BaseException:
        plane.stop()
        raise
    return plane


def down(directory: Path) -> bool:
    """Ends what runs in this directory and removes it; False when there was nothing."""
    if present := ControlPlane.load(directory):
        present.stop()
    elif directory.exists() and any(directory.iterdir()) and not (directory / "pki").exists():
        raise ClusterError(f"{directory} holds something that is not a control plane; it is left alone")
    was_there = directory.exists()
    shutil.rmtree(directory, ignore_errors=True)
    return was_there


def default_directory(cache: Cache) -> Path:
    """Where `control-plane up` keeps its control plane unless told otherwise."""
    return cache.run / "control-plane"


def sweep(cache: Cache) -> list[Path]:
    """Removes what owners that are gone have left: their processes, if any, and their directories."""
    swept = []
    for directory in sorted(cache.run.glob("session-*")) if cache.run.exists() else []:
        present = ControlPlane.load(directory)
        if present and present.owner and not present.owner.alive:
            down(directory)
            swept.append(directory)
    return swept


@contextlib.contextmanager
def control_plane() -> Iterator[ControlPlane]:
    """A control plane of one's own, gone at the end. Enter it in a thread that lives as long as it is needed."""
    cache = Cache.default()
    programs.ensure(CONTROL_PLANE, cache)
    cache.run.mkdir(parents=True, exist_ok=True)
    sweep(cache)
    directory = Path(tempfile.mkdtemp(prefix="session-", dir=cache.run))
    plane = up(directory, owner=processes.me())
    try:
        yield plane
    finally:
        plane.stop()
        shutil.rmtree(directory, ignore_errors=True)
