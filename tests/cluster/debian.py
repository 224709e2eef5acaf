"""Root file systems by debootstrap, kept in the cache; and the Debian packages that this machine needs."""

import importlib.util
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cluster import versions
from tests.cluster.console import ClusterError, run, say, step

PACKAGES: Final = {
    "docker.io": "dockerd",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "iproute2": "ip",
    "debootstrap": "debootstrap",
    "openssl": "openssl",
    "make": "make",
}
"""Debian package → the program by which it is known to be there, however it was installed."""

_USELESS: Final = (
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/aarch64-linux-gnu/gconv",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bash-completion",
)


def missing_packages() -> list[str]:
    """The packages of which this machine lacks the part that is needed."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))
    missing = [package for package, program in PACKAGES.items() if shutil.which(program, path=path) is None]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append("python3-venv")
    if not cgroups_are_mounted() and shutil.which("cgroupfs-mount", path=path) is None:
        missing.append("cgroupfs-mount")
    return missing


def cgroups_are_mounted() -> bool:
    """Whether control groups are there, of version 1 or 2; a machine without systemd may have none."""
    return any((Path("/sys/fs/cgroup") / name).exists() for name in ("memory", "cgroup.controllers"))


def install_packages() -> None:
    """Installs what is missing; says so when there is nothing to do, or nothing that it can do."""
    missing = missing_packages()
    if not missing:
        say("  nothing is missing")
        return
    if shutil.which("apt-get") is None:
        raise ClusterError(
            f"this is not Debian or Ubuntu; install what these packages hold by other means: {' '.join(missing)}"
        )
    if os.geteuid() != 0:
        raise ClusterError(
            f"installing packages needs root: sudo apt-get install --no-install-recommends {' '.join(missing)}"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step("apt-get update"):
        run(["apt-get", "update", "-q"], env=environment)
    with step(f"apt-get install {' '.join(missing)}"):
        run(["apt-get", "install", "-qy", "--no-install-recommends", *missing], env=environment)


def bootstrap(root: Path, packages: Sequence[str], log: Path) -> None:
    """Fills a folder with a minimal Debian and these packages; does nothing if that was done before."""
    wanted = f"{versions.DEBIAN}: {' '.join(sorted(packages))}\nwithout: {' '.join(_USELESS)}\n"
    stamp = root.parent / f"{root.name}.is"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if os.geteuid() != 0:
        raise ClusterError("making a Debian root file system needs root (debootstrap)")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with step(f"Debian {versions.DEBIAN} with {len(packages)} packages, by debootstrap"):
        run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", versions.DEBIAN, root], log=log)
    for useless in (
        *_USELESS,
        "var/cache/apt",
        "var/lib/apt/lists",
        "var/log",
        "var/cache/debconf",
        "var/cache/ldconfig",
    ):
        shutil.rmtree(root / useless, ignore_errors=True)
        if useless.startswith("var/"):
            (root / useless).mkdir()
    stamp.write_text(wanted)
