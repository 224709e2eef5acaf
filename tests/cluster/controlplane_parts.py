"""The command lines of a control plane's parts, and the kubeconfig that leads to it."""

import base64
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ORDER: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""In the order in which they start."""


@dataclass(frozen=True)
class Ports:
    """What the parts listen on, all on 127.0.0.1."""

    api: int
    etcd: int
    peer: int

    @classmethod
    def free(cls, api: int | None = None) -> "Ports":
        """Ports that nobody listens on now, so that several control planes run side by side."""
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            sockets = (first, second, third)
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            numbers = [each.getsockname()[1] for each in sockets]
        return cls(api or numbers[0], numbers[1], numbers[2])


def commands(directory: Path, ports: Ports, programs: Mapping[str, Path]) -> dict[str, list[str]]:
    """The command line of each part, set up as kubeadm does it where a test could tell the difference."""
    pki = directory / "pki"
    etcd, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.peer}"
    client = [
        f"--kubeconfig={directory / 'kubeconfig'}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
    own_port_off = ["--secure-port=0"]
    return {
        "etcd": [
            str(programs["etcd"]),
            f"--data-dir={directory / 'data'}",
            *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}"),
            *(
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
            ),
            *("--unsafe-no-fsync", "--quota-backend-bytes=4294967296", "--log-level=warn"),
        ],
        "kube-apiserver": [
            str(programs["kube-apiserver"]),
            *(f"--etcd-servers={etcd}", f"--secure-port={ports.api}", "--bind-address=127.0.0.1"),
            *(f"--tls-cert-file={pki / 'apiserver.crt'}", f"--tls-private-key-file={pki / 'apiserver.key'}"),
            *(f"--client-ca-file={pki / 'ca.crt'}", f"--service-account-key-file={pki / 'sa.pub'}"),
            f"--service-account-signing-key-file={pki / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            *("--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true"),
            *(
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--enable-bootstrap-token-auth",
            ),
            *("--max-requests-inflight=800", "--max-mutating-requests-inflight=400"),
        ],
        "kube-controller-manager": [
            str(programs["kube-controller-manager"]),
            *client,
            *own_port_off,
            *("--use-service-account-credentials", f"--service-account-private-key-file={pki / 'sa.key'}"),
            f"--root-ca-file={pki / 'ca.crt'}",
            *(f"--cluster-signing-cert-file={pki / 'ca.crt'}", f"--cluster-signing-key-file={pki / 'ca.key'}"),
        ],
        "kube-scheduler": [str(programs["kube-scheduler"]), *client, *own_port_off],
    }


def kubeconfig(server: str, pki: Path) -> str:
    """A kubeconfig with everything inside it, as kind and the clouds write them."""

    def inline(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: managedjobs-test
  cluster:
    server: {server}
    certificate-authority-data: {inline("ca.crt")}
users:
- name: admin
  user:
    client-certificate-data: {inline("admin.crt")}
    client-key-data: {inline("admin.key")}
contexts:
- name: managedjobs-test
  context: {{cluster: managedjobs-test, user: admin}}
current-context: managedjobs-test
"""
