"""Which Debian packages count as missing, and what is said when they can't be installed."""

import os
from pathlib import Path

import pytest

from tests.cluster import docker, packages
from tests.cluster.console import ClusterError
from tests.cluster.docker import Engine

BORROWED = Engine(None)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose programs are those in this folder, with control groups and no Docker daemon."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "_SBIN", ())
    monkeypatch.setattr(docker, "cgroups_are_mounted", lambda: True)
    monkeypatch.setattr(docker, "machine", lambda: None)
    return tmp_path


def have(machine: Path, *programs: str) -> None:
    for program in programs:
        (machine / program).write_text("#!/bin/sh\n")
        (machine / program).chmod(0o755)


@pytest.mark.usefixtures("machine")
def test_on_a_bare_machine_everything_is_missing() -> None:
    assert set(packages.missing()) == {*packages.ALWAYS, *packages.FOR_OWN_DOCKER}


def test_a_program_counts_however_it_was_installed(machine: Path) -> None:
    have(machine, *packages.ALWAYS.values(), *packages.FOR_OWN_DOCKER.values())
    assert packages.missing() == []


def test_a_user_with_docker_needs_nothing_to_run_a_daemon(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    have(machine, *packages.ALWAYS.values())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(docker, "machine", lambda: BORROWED)
    assert packages.missing() == []


def test_root_makes_images_by_debootstrap_even_with_the_machines_docker(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(machine, *packages.ALWAYS.values())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(docker, "machine", lambda: BORROWED)
    assert "debootstrap" in packages.missing()


def test_control_groups_are_asked_for_where_nothing_mounts_them(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(machine, *packages.ALWAYS.values(), *packages.FOR_OWN_DOCKER.values())
    monkeypatch.setattr(docker, "cgroups_are_mounted", lambda: False)
    assert packages.missing() == ["cgroupfs-mount"]


@pytest.mark.usefixtures("machine")
def test_another_distribution_is_told_what_it_needs() -> None:
    with pytest.raises(ClusterError, match=r"not Debian or Ubuntu.*debootstrap"):
        packages.install()


def test_without_root_the_command_to_run_is_shown(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    have(machine, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"needs root: sudo apt-get install .*docker\.io"):
        packages.install()
