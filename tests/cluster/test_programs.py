"""Where programs are looked for, in which order, and what is passed over."""

from pathlib import Path

import pytest

from tests.cluster import programs
from tests.cluster.cache import Cache
from tests.cluster.console import ClusterError
from tests.cluster.recipes import CONTROL_PLANE, NODE, RECIPES


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return Cache(tmp_path / "cache")


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_assets_come_before_the_cache(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asset = program(tmp_path / "assets" / "kube-apiserver", "Kubernetes v1.36.1")
    program(cache.bin / "kube-apiserver", "ours")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(asset.parent))
    found, rejected = programs.look_up("kube-apiserver", cache)
    assert found == programs.Found(asset, "KUBEBUILDER_ASSETS")
    assert rejected == []


def test_an_asset_of_another_version_is_passed_over_and_named(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset = program(tmp_path / "assets" / "kube-apiserver", "Kubernetes v1.31.0")
    ours = program(cache.bin / "kube-apiserver", "ours")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(asset.parent))
    found, rejected = programs.look_up("kube-apiserver", cache)
    assert found == programs.Found(ours, "cache")
    assert [(each.path, "1.31.0" in each.why) for each in rejected] == [(asset, True)]


def test_what_the_cache_holds_comes_before_path(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = program(cache.bin / "helm", "ours")
    monkeypatch.setenv("PATH", str(program(tmp_path / "path" / "helm", "v3.20.0").parent))
    assert programs.look_up("helm", cache)[0] == programs.Found(ours, "cache")


@pytest.mark.parametrize(
    ("name", "says", "used"),
    [
        ("helm", "v3.20.0+gabcdef", True),
        ("kubectl", "Client Version: v1.36.0", True),
        ("kubectl", "Client Version: v1.32.4", False),
        ("etcd", "etcd Version: 3.6.8", False),
    ],
    ids=["helm", "a kubectl that fits", "an old kubectl", "etcd is not taken from PATH"],
)
def test_path_is_asked_for_some_programs_only(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str, used: bool
) -> None:
    there = program(tmp_path / "path" / name, says)
    monkeypatch.setenv("PATH", f"{there.parent}:/usr/bin:/bin")
    assert programs.look_up(name, cache)[0] == (programs.Found(there, "PATH") if used else None)


def test_a_program_that_is_nowhere_is_not_found(cache: Cache) -> None:
    assert programs.look_up("kwok", cache) == (None, [])


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(cache: Cache) -> None:
    with pytest.raises(ClusterError, match=r"no recipe for 'kubctl'.*kubectl"):
        programs.look_up("kubctl", cache)


def test_without_go_the_error_says_what_is_needed(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ClusterError, match=r"Go 1\.26 or later is needed"):
        programs.ensure(["kwok"], cache)


@pytest.mark.parametrize(
    ("version", "toolchain", "accepted"),
    [("go1.26.8", "local", True), ("go1.22.1", "auto", True), ("go1.22.1", "local", False), ("go1.19", "auto", False)],
)
def test_an_old_go_is_accepted_only_if_it_can_fetch_a_newer_one(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, toolchain: str, accepted: bool
) -> None:
    tools = tmp_path / "tools"
    says = f'if [ "$1" = env ]; then printf "{version}\\n{toolchain}\\n"; exit; fi'
    builds = 'while [ "$1" != -o ]; do shift; done; printf built > "$2"'
    go = program(tools / "go", "")
    go.write_text(f"#!/bin/sh\n{says}\n{builds}\n")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    if accepted:
        assert programs.ensure(["pause"], cache)["pause"].read_text() == "built"
    else:
        with pytest.raises(ClusterError, match=f"is {version}, but 1.26 or later is needed"):
            programs.ensure(["pause"], cache)


def test_a_build_that_fails_leaves_no_program_and_shows_why(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = program(tmp_path / "tools" / "go", "")
    go.write_text(
        '#!/bin/sh\n[ "$1" = env ] && printf "go1.26.0\\nlocal\\n" && exit\necho "undefined: x" >&2; exit 2\n'
    )
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    with pytest.raises(ClusterError, match="undefined: x"):
        programs.ensure(["pause"], cache)
    assert programs.look_up("pause", cache)[0] is None


def test_everything_that_a_cluster_needs_has_a_recipe() -> None:
    assert {*CONTROL_PLANE, *NODE, "kind", "kwok", "helm"} <= set(RECIPES)
