"""The Docker daemon: the machine's own where it works, else one that we start, with everything it needs in the cache.

A daemon of ours changes the machine's network (a bridge, iptables rules, forwarding); `stop` puts that back.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster import network, processes, programs
from tests.cluster.cache import Cache
from tests.cluster.console import ClusterError, run, step, succeeds, wait_until
from tests.cluster.processes import Process

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Engine:
    """A Docker daemon that answers. `socket` is None for the machine's own, reached the way the user set it up."""

    socket: Path | None

    @property
    def ours(self) -> bool:
        """Whether we started it, and so have to stop it."""
        return self.socket is not None

    @property
    def environment(self) -> dict[str, str]:
        """The environment for programs that talk to it."""
        return dict(os.environ) if self.socket is None else {**os.environ, "DOCKER_HOST": f"unix://{self.socket}"}

    def docker(self, *args: str | Path, stdin: str | None = None) -> str:
        """Runs the docker command line against it and returns what it printed."""
        return run(["docker", *args], env=self.environment, stdin=stdin)

    def succeeds(self, *args: str | Path, timeout: float = 60) -> bool:
        """Whether a docker command ends well."""
        return succeeds(["docker", *args], env=self.environment, timeout=timeout)

    def has_image(self, tag: str) -> bool:
        """Whether it holds an image of this name."""
        return self.succeeds("image", "inspect", tag)


def present(cache: Cache) -> Engine | None:
    """The daemon that answers now: ours if it runs, else the machine's own, else None."""
    ours = Engine(_socket(cache))
    if _socket(cache).exists() and ours.succeeds("info", timeout=20):
        return ours
    return machine()


def machine() -> Engine | None:
    """The machine's own daemon, if it answers."""
    engine = Engine(None)
    return engine if engine.succeeds("info", timeout=20) else None


def ensure(cache: Cache) -> Engine:
    """A daemon that answers, started if there is none."""
    with cache.lock("docker"):
        return present(cache) or _start(cache)


def left_containers(cache: Cache) -> bool:
    """Whether a daemon of ours has containers on disk, running or not."""
    return bool(_container_ids(cache))


def stop(cache: Cache) -> None:
    """Ends a daemon of ours, if there is one, or what is left of it, and undoes what it did to the network."""
    with cache.lock("docker"):
        processes.stop(_daemons(cache), grace=STOP_SECONDS)  # asked first: it stops its containers
        _clear(cache)
        if machine() is None:  # else the rules and bridges may be the machine's own daemon's
            network.restore(cache)


def cgroups_are_mounted() -> bool:
    """Whether control groups are there, of version 1 or 2; a machine without systemd may have none."""
    return any((Path("/sys/fs/cgroup") / name).exists() for name in ("memory", "cgroup.controllers"))


def is_stale(pid_file: Path, program: str) -> bool:
    """Whether a pid file speaks of a process that is gone, or whose id now belongs to some other program.

    A daemon refuses to start, or waits for ever for a containerd, when such a file is left.
    """
    try:
        pid = int(pid_file.read_text())
        return program.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    except ValueError:
        return True
    except OSError:
        return pid_file.exists()


def _start(cache: Cache) -> Engine:
    if shutil.which("dockerd") is None:
        raise ClusterError("no Docker daemon answers, and none is installed (try: python3 -m tests.cluster packages)")
    if os.geteuid() != 0:
        raise ClusterError(
            "no Docker daemon answers; starting one needs root (or start the machine's: `systemctl start docker`)"
        )
    wrapper = programs.path_of("runc-wrap", cache)
    if not cgroups_are_mounted():
        run(["cgroupfs-mount"])
    network.remember(cache)
    with step("starting a Docker daemon of our own"):
        _clear_stale_files(cache)
        if not _answers_after_launch(cache, wrapper):
            _clear(cache)  # what an earlier daemon left can keep this one from starting
            if not _answers_after_launch(cache, wrapper):
                _clear(cache)
                raise ClusterError(
                    f"the Docker daemon does not start; the end of its log:\n{_log(cache).read_text()[-2000:]}"
                )
    return Engine(_socket(cache))


def _answers_after_launch(cache: Cache, wrapper: Path) -> bool:
    engine, daemon = Engine(_socket(cache)), _launch(cache, wrapper)
    try:
        wait_until(lambda: not daemon.alive or engine.succeeds("info"), "Docker daemon", START_SECONDS, every=0.3)
    except ClusterError:
        return False
    return daemon.alive


def _launch(cache: Cache, wrapper: Path) -> Process:
    settings = {
        "data-root": str(_data_root(cache)),
        "exec-root": str(_exec_root(cache)),
        "pidfile": str(_pid_file(cache)),
        "hosts": [f"unix://{_socket(cache)}"],
        "storage-driver": "overlay2",
        "runtimes": {"wrap": {"path": str(wrapper)}},
        "default-runtime": "wrap",
    }
    config = cache.root / "dockerd.json"
    config.write_text(json.dumps(settings, indent=1))
    real = shutil.which("runc") or "/usr/sbin/runc"
    return processes.start(
        ["dockerd", "--config-file", config], _log(cache), bound=False, env={**os.environ, "REAL_RUNC": real}
    )


def _clear_stale_files(cache: Cache) -> None:
    containerd = _exec_root(cache) / "containerd" / "containerd.pid"
    for file, program in ((_pid_file(cache), "dockerd"), (containerd, "containerd")):
        if is_stale(file, program):
            file.unlink()


def _clear(cache: Cache) -> None:
    """Ends every process of a daemon of ours (shims and containers too), and removes what says that it runs."""
    processes.stop(_remains(cache))
    for file in (_pid_file(cache), _socket(cache)):
        file.unlink(missing_ok=True)
    network.unmount_below(_exec_root(cache), _data_root(cache))
    shutil.rmtree(_exec_root(cache), ignore_errors=True)


def _daemons(cache: Cache) -> list[Process]:
    return processes.of_programs(["dockerd"], str(cache.root / "dockerd.json"))


def _remains(cache: Cache) -> list[Process]:
    """Daemon, containerd and shims (known by our paths), containers (known by the ids in their control groups)."""
    below = processes.of_programs(["containerd", "containerd-shim-runc-v2"], str(_exec_root(cache)))
    return _daemons(cache) + below + processes.in_control_groups(_container_ids(cache))


def _container_ids(cache: Cache) -> list[str]:
    return [folder.name for folder in (_data_root(cache) / "containers").glob("*")]


def _socket(cache: Cache) -> Path:
    return cache.root / "docker.sock"


def _pid_file(cache: Cache) -> Path:
    return cache.root / "docker.pid"


def _data_root(cache: Cache) -> Path:
    return cache.root / "docker"


def _exec_root(cache: Cache) -> Path:
    return cache.root / "docker-exec"


def _log(cache: Cache) -> Path:
    return cache.root / "dockerd.log"
