"""Which of the programs on a machine are good enough."""

import pytest

from tests.cluster import versions

NEAR = [
    ("kubectl", "clientVersion: v1.36.3", True),
    ("kubectl", "Client Version: v1.35.0", True),
    ("kubectl", "Client Version: v1.37.1", True),
    ("kubectl", "Client Version: v1.32.4-dispatcher", False),
    ("kubectl", "Client Version: v1.38.0", False),
    ("kube-apiserver", "Kubernetes v1.36.0", True),
    ("kube-apiserver", "Kubernetes v1.35.9", False),
    ("etcd", "etcd Version: 3.5.21", True),
    ("etcd", "etcd Version: 3.4.30", False),
    ("helm", "v3.14.0+g3fc9f4b", True),
    ("helm", "v3.9.0", False),
    ("helm", "v4.0.1", False),
    ("kind", "kind v0.33.0 go1.26.8 linux/amd64", True),
    ("kind", "kind v0.20.0 go1.20 linux/amd64", False),
    ("kubelet", "Kubernetes v1.36.3", False),
]


@pytest.mark.parametrize(("program", "says", "fits"), NEAR, ids=[f"{program}: {says}" for program, says, _ in NEAR])
def test_a_program_found_on_the_machine_is_used_only_if_its_version_fits(program: str, says: str, fits: bool) -> None:
    assert versions.is_recent_enough(program, versions.parse(says)) is fits


def test_a_program_that_does_not_say_its_version_is_not_used() -> None:
    assert versions.parse("command not found") is None
    assert not versions.is_recent_enough("kubectl", None)
