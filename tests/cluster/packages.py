"""The Debian packages that this machine needs for the other verbs."""

import importlib.util
import os
import shutil
from typing import Final

from tests.cluster import docker
from tests.cluster.console import ClusterError, run, say, step

ALWAYS: Final = {"openssl": "openssl", "make": "make"}
FOR_OWN_DOCKER: Final = {
    "docker.io": "dockerd",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "iproute2": "ip",
    "debootstrap": "debootstrap",
}
"""Debian package → the program by which it is known to be there, however it was installed."""
_SBIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def missing() -> list[str]:
    """The packages of which this machine lacks the part that is needed.

    Who is not root, and has a Docker daemon to talk to, needs no daemon of our own and can't make one.
    """
    borrowed = os.geteuid() != 0 and docker.machine() is not None
    needed = ALWAYS if borrowed else ALWAYS | FOR_OWN_DOCKER
    path = os.pathsep.join((os.environ.get("PATH", ""), *_SBIN))
    lacking = [package for package, program in needed.items() if shutil.which(program, path=path) is None]
    if importlib.util.find_spec("ensurepip") is None:
        lacking.append("python3-venv")
    if not borrowed and not docker.cgroups_are_mounted() and shutil.which("cgroupfs-mount", path=path) is None:
        lacking.append("cgroupfs-mount")
    return lacking


def install() -> None:
    """Installs what is missing; says so when there is nothing to do, or nothing that it can do."""
    lacking = missing()
    if not lacking:
        say("  no package is missing")
        return
    names = " ".join(lacking)
    if shutil.which("apt-get") is None:
        raise ClusterError(f"this is not Debian or Ubuntu; install what these packages hold by other means: {names}")
    if os.geteuid() != 0:
        raise ClusterError(f"installing packages needs root: sudo apt-get install --no-install-recommends {names}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step("apt-get update"):
        run(["apt-get", "update", "-q"], env=environment)
    with step(f"apt-get install {names}"):
        run(["apt-get", "install", "-qy", "--no-install-recommends", *lacking], env=environment)
