"""Which versions are used, and which of the programs already on a machine are good enough."""

import re
from typing import Final

KUBERNETES: Final = "v1.36.3"
ETCD: Final = "v3.6.8"
KIND: Final = "v0.33.0"
KIND_NODE_IMAGE: Final = "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5"
"""The published node image that this kind uses by default."""
CRICTL: Final = "v1.36.0"
COREDNS: Final = "v1.14.2"
CONTAINERD: Final = "v2.3.4"
KWOK: Final = "v0.8.0"
HELM: Final = "v3.22.0"
GO: Final = (1, 26)
"""The oldest Go that builds them; an older one (1.21 or later) fetches this one by itself when it may."""

DEBIAN: Final = "bookworm"
PYTHON: Final = "3.11"
"""The Python of that Debian: wheels for the image are chosen for it, whatever Python runs this program."""

Version = tuple[int, ...]


def parse(text: str) -> Version | None:
    """The first dotted number in a text (`kind v0.33.0 go1.26 …` → (0, 33, 0)); None without one."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else None


def is_recent_enough(program: str, version: Version | None) -> bool:
    """Whether a program found on the machine, of this version, may stand in for a pinned one.

    kubectl supports one minor version of distance to the API server; the parts of a control plane must
    be of one minor version (https://kubernetes.io/releases/version-skew-policy/). Helm 4 changed its
    command line. kind must know the node image that was made from its own pinned version.
    """
    if version is None:
        return False
    match program:
        case "kubectl":
            return version[0] == 1 and abs(version[1] - _minor(KUBERNETES)) <= 1
        case "kube-apiserver" | "kube-controller-manager" | "kube-scheduler":
            return version[:2] == (1, _minor(KUBERNETES))
        case "etcd":
            return version >= (3, 5)
        case "helm":
            return (3, 14) <= version < (4,)
        case "kind":
            return version >= (0, _minor(KIND))
        case _:
            return False


def _minor(version: str) -> int:
    parsed = parse(version)
    assert parsed is not None, f"{version} is not a version"
    return parsed[1]
