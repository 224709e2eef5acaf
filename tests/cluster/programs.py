"""Finds programs, and builds those that are nowhere.

Looked up in this order: KUBEBUILDER_ASSETS, the cache, PATH (helm, kind and kubectl only); then built into the cache.
What is found counts only if its version fits (`versions.is_recent_enough`); what the cache holds is ours and fits.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster import versions
from tests.cluster.cache import HERE, Cache
from tests.cluster.console import ClusterError, run, say, step
from tests.cluster.recipes import RECIPES, Recipe

ASSETS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
ON_PATH: Final = ("helm", "kind", "kubectl")
_ASKED: Final = {"kubectl": ("version", "--client"), "helm": ("version", "--short"), "kind": ("version",)}


@dataclass(frozen=True)
class Found:
    """A program that is there, and which of the places it came from."""

    path: Path
    source: str


@dataclass(frozen=True)
class Rejected:
    """A program that is there but does not fit."""

    path: Path
    why: str


def home(name: str, cache: Cache) -> Path:
    """Where the cache keeps a program; ClusterError for a name without a recipe."""
    if name not in RECIPES:
        raise ClusterError(f"no recipe for {name!r}; known are: {', '.join(sorted(RECIPES))}")
    return (cache.node_bin if RECIPES[name].for_node else cache.bin) / name


def look_up(name: str, cache: Cache) -> tuple[Found | None, list[Rejected]]:
    """The first program of that name that fits, and those that were passed over."""
    rejected: list[Rejected] = []
    for path, source in _candidates(name, cache):
        if not os.access(path, os.X_OK):
            continue
        if source == "cache":
            return Found(path, source), rejected
        version = _version_of(path, name)
        if versions.is_recent_enough(name, version):
            return Found(path, source), rejected
        shown = ".".join(map(str, version)) if version else "does not say its version"
        rejected.append(Rejected(path, f"{shown}; needed is one that goes with {_wanted(name)}"))
    return None, rejected


def ensure(names: Iterable[str], cache: Cache) -> dict[str, Path]:
    """The path of each program, built first where it is missing."""
    wanted = list(dict.fromkeys(names))
    found = {name: look_up(name, cache)[0] for name in wanted}
    missing = [name for name in wanted if found[name] is None]
    if missing:
        with cache.lock("build"):
            for together in _builds([name for name in missing if not home(name, cache).exists()]):
                _build(together, cache)
    return {name: place.path if (place := found[name]) else home(name, cache) for name in wanted}


def path_of(name: str, cache: Cache) -> Path:
    """The path of one program, built first if it is missing."""
    return ensure([name], cache)[name]


def _candidates(name: str, cache: Cache) -> Iterable[tuple[Path, str]]:
    if name in ASSETS and (assets := os.environ.get("KUBEBUILDER_ASSETS")):
        yield Path(assets) / name, "KUBEBUILDER_ASSETS"
    yield home(name, cache), "cache"
    if name in ON_PATH and (on_path := shutil.which(name)):
        yield Path(on_path), "PATH"


def _wanted(name: str) -> str:
    return versions.KUBERNETES if name.startswith("kube") else RECIPES[name].version


def _version_of(path: Path, name: str) -> versions.Version | None:
    arguments = _ASKED.get(name, ("--version",))
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return versions.parse(done.stdout)


def _builds(names: list[str]) -> list[list[str]]:
    """Groups what one `go build` can make together: it compiles what they share once and links side by side."""
    groups: dict[object, list[str]] = {}
    for name in names:
        recipe = RECIPES[name]
        together = (recipe.pinned_in, recipe.linked) if recipe.pinned_in == "kubernetes" else name
        groups.setdefault(together, []).append(name)
    return list(groups.values())


def _build(names: list[str], cache: Cache) -> None:
    go = _go()
    work = cache.root / "building" / names[0]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    log = work.parent / f"{names[0]}.log"
    log.unlink(missing_ok=True)
    recipe = RECIPES[names[0]]
    flags = ["-trimpath", "-ldflags", recipe.linked, *(["-tags", recipe.tags] if recipe.tags else [])]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    with step(f"building {', '.join(names)}{f' {recipe.version}' if recipe.version else ''}"):
        if recipe.pinned_in is None:
            command: list[str | Path] = [go, "install", *flags, f"{recipe.package}@{recipe.version}"]
            run(command, cwd=work, env={**environment, "GOBIN": str(work)}, log=log)
        else:
            packages = [RECIPES[name].package for name in names]
            output = f"{work}/{names[0]}" if len(names) == 1 else f"{work}/"
            command = [go, "build", "-mod=readonly", *flags, "-o", output, *packages]
            run(command, cwd=HERE / "go" / recipe.pinned_in, env=environment, log=log)
    for name in names:
        target = home(name, cache)
        target.parent.mkdir(parents=True, exist_ok=True)
        (work / _built_as(name, recipe)).replace(target)  # complete or absent, never half of it
    shutil.rmtree(work)


def _built_as(name: str, recipe: Recipe) -> str:
    return name if recipe.pinned_in else recipe.package.rpartition("/")[2]


def _go() -> Path:
    """The Go compiler; ClusterError saying what is wrong when it is missing or too old."""
    needed = ".".join(map(str, versions.GO))
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            f"Go {needed} or later is needed to build programs (https://go.dev/dl), and there is no `go` on PATH"
        )
    answer = run([go, "env", "GOVERSION", "GOTOOLCHAIN"], cwd=Path("/")).split()
    present = versions.parse(answer[0])
    if present is None or present >= versions.GO:
        return Path(go)
    may_fetch = present >= (1, 21) and not re.fullmatch(r"local|go[\d.]+", answer[-1])
    if not may_fetch:
        raise ClusterError(f"{go} is {answer[0]}, but {needed} or later is needed (https://go.dev/dl)")
    say(f"  {go} is {answer[0]}; it will fetch Go {needed} by itself")
    return Path(go)
