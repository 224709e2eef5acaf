"""What is recognised in the remains of an earlier run, and what is done about it."""

import os
from pathlib import Path

import pytest

from tests.cluster import docker, network
from tests.cluster.kind import Next, Seen, configuration, decide
from tests.cluster.processes import Process

UP = "running"
STATES = [
    ("nothing is there", {}, False, 2, Next.CREATE),
    ("all runs", {"control-plane": UP, "worker": UP, "worker2": UP}, True, 2, Next.USE),
    ("any number of workers will do", {"control-plane": UP, "worker": UP}, True, None, Next.USE),
    ("a worker too few", {"control-plane": UP, "worker": UP}, True, 2, Next.REPLACE),
    ("a worker was killed", {"control-plane": UP, "worker": "exited", "worker2": UP}, True, 2, Next.START_NODES),
    (
        "the machine was restarted",
        {"control-plane": "exited", "worker": "exited", "worker2": "exited"},
        False,
        2,
        Next.REPLACE,
    ),
    ("creation was broken off", {"control-plane": UP, "worker": UP, "worker2": UP}, False, 2, Next.REPLACE),
    ("only workers are left", {"worker": UP, "worker2": UP}, False, 1, Next.REPLACE),
]


@pytest.mark.parametrize(
    ("containers", "answers", "workers", "wanted"), [state[1:] for state in STATES], ids=[state[0] for state in STATES]
)
def test_what_is_done_about_a_cluster_follows_from_what_is_there(
    containers: dict[str, str], answers: bool, workers: int | None, wanted: Next
) -> None:
    seen = Seen({f"mine-{node}": state for node, state in containers.items()}, answers)
    assert decide(seen, "mine", workers) is wanted


def test_the_pid_file_of_a_dead_daemon_is_stale(tmp_path: Path) -> None:
    file = tmp_path / "docker.pid"
    file.write_text("4194305")  # above the kernel's highest id
    assert docker.is_stale(file, "dockerd")


def test_a_pid_file_whose_number_went_to_another_program_is_stale(tmp_path: Path) -> None:
    file = tmp_path / "docker.pid"
    file.write_text(str(os.getpid()))
    assert docker.is_stale(file, "dockerd")
    assert not docker.is_stale(file, "python")


@pytest.mark.parametrize("content", ["", "not a number"])
def test_a_pid_file_without_a_number_is_stale(tmp_path: Path, content: str) -> None:
    file = tmp_path / "docker.pid"
    file.write_text(content)
    assert docker.is_stale(file, "dockerd")


def test_no_pid_file_is_not_a_stale_one(tmp_path: Path) -> None:
    assert not docker.is_stale(tmp_path / "none", "dockerd")


def test_a_process_is_not_taken_for_a_later_one_with_its_id() -> None:
    now = Process.of(os.getpid())
    assert now is not None
    assert now.alive
    assert not Process(now.pid, now.started - 1).alive


SAVED = """\
*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
-A POSTROUTING -s 172.18.0.0/16 ! -o br-0123456789ab -j MASQUERADE
-A POSTROUTING -s 10.0.0.0/8 -m comment --comment "not of a daemon" -j MASQUERADE
-A DOCKER -i docker0 -j RETURN
COMMIT
*filter
:FORWARD DROP [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -o eth0 -j ACCEPT
COMMIT
"""


def test_only_rules_of_a_docker_daemon_are_undone() -> None:
    assert network.docker_rules(SAVED) == [
        ("nat", ["PREROUTING", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "DOCKER"]),
        ("nat", ["POSTROUTING", "-s", "172.17.0.0/16", "!", "-o", "docker0", "-j", "MASQUERADE"]),
        ("nat", ["POSTROUTING", "-s", "172.18.0.0/16", "!", "-o", "br-0123456789ab", "-j", "MASQUERADE"]),
        ("filter", ["FORWARD", "-j", "DOCKER-USER"]),
    ]


def test_only_chains_of_a_docker_daemon_are_removed() -> None:
    assert network.docker_chains("-P FORWARD DROP\n-N DOCKER\n-N DOCKER-USER\n-N MINE\n-A MINE -j DOCKER") == [
        "DOCKER",
        "DOCKER-USER",
    ]


def test_the_home_made_image_brings_its_own_pod_network() -> None:
    made = configuration("mine", 2, "node:1", home_made=True)
    published = configuration("mine", 2, "node:1", home_made=False)
    assert made["networking"] == {"disableDefaultCNI": True, "kubeProxyMode": "nftables"}
    assert "networking" not in published
    assert made["nodes"] == published["nodes"]
