"""How each program is built from its Go module."""

from dataclasses import dataclass
from typing import Final

from tests.cluster import versions


@dataclass(frozen=True)
class Recipe:
    """One `go build` or `go install`.

    `pinned_in` names the folder under `go/` whose go.mod and go.sum pin it; None: `go install package@version`,
    pinned by the version and the checksum database.
    """

    package: str
    version: str = ""
    pinned_in: str | None = None
    for_node: bool = False
    linked: str = "-s -w"
    tags: str = ""


def _kubernetes(name: str, *, for_node: bool = False) -> Recipe:
    major, minor = versions.KUBERNETES.removeprefix("v").split(".")[:2]
    package = "k8s.io/component-base/version"
    stamp = (
        f"-X {package}.gitVersion={versions.KUBERNETES} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
    return Recipe(f"k8s.io/kubernetes/cmd/{name}", versions.KUBERNETES, "kubernetes", for_node, f"-s -w {stamp}")


def _containerd(name: str) -> Recipe:
    stamp = f"-s -w -X github.com/containerd/containerd/v2/version.Version={versions.CONTAINERD}"
    package = f"github.com/containerd/containerd/v2/cmd/{name}"
    return Recipe(package, versions.CONTAINERD, None, True, stamp, "no_btrfs,no_devmapper,no_zfs,no_aufs")


RECIPES: Final[dict[str, Recipe]] = {
    "etcd": Recipe("go.etcd.io/etcd/server/v3", versions.ETCD, "etcd"),
    "kube-apiserver": _kubernetes("kube-apiserver"),
    "kube-controller-manager": _kubernetes("kube-controller-manager"),
    "kube-scheduler": _kubernetes("kube-scheduler"),
    "kubectl": _kubernetes("kubectl"),
    "kubelet": _kubernetes("kubelet", for_node=True),
    "kubeadm": _kubernetes("kubeadm", for_node=True),
    "kube-proxy": _kubernetes("kube-proxy", for_node=True),
    "kwok": Recipe("sigs.k8s.io/kwok/cmd/kwok", versions.KWOK),
    "helm": Recipe("helm.sh/helm/v3/cmd/helm", versions.HELM),
    "kind": Recipe("sigs.k8s.io/kind", versions.KIND),
    "crictl": Recipe("sigs.k8s.io/cri-tools/cmd/crictl", versions.CRICTL, for_node=True),
    "coredns": Recipe(".", versions.COREDNS, "coredns", for_node=True),
    "containerd": _containerd("containerd"),
    "ctr": _containerd("ctr"),
    "containerd-shim-runc-v2": _containerd("containerd-shim-runc-v2"),
    "pause": Recipe(".", pinned_in="pause", for_node=True),
    "runc-wrap": Recipe(".", pinned_in="runc-wrap"),
    "kueue": Recipe("sigs.k8s.io/kueue/cmd/kueue", pinned_in="kueue"),
    "kueue-runner": Recipe("sigs.k8s.io/kueue/test/performance/scheduler/runner", pinned_in="kueue"),
    "kueue-minimalkueue": Recipe("sigs.k8s.io/kueue/test/performance/scheduler/minimalkueue", pinned_in="kueue"),
}

CONTROL_PLANE: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NODE: Final = (
    *("kubelet", "kubeadm", "kube-proxy", "crictl", "coredns", "containerd", "ctr", "containerd-shim-runc-v2"),
    *("pause", "runc-wrap"),
)
