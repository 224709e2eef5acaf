"""What is on this machine, what is missing, and what will be built because of that."""

import os
import platform
import shutil

from tests.cluster import docker, image, kind, node_image, packages, programs, versions
from tests.cluster.cache import Cache
from tests.cluster.console import run
from tests.cluster.recipes import CONTROL_PLANE, NODE

_FREE_BYTES = 15e9
"""What a cold build of everything takes: about 9 GB for Go's caches, 4 GB for ours."""


def report(cache: Cache) -> None:
    """Prints a line for each thing that the other verbs need."""
    _line("Python", platform.python_version())
    _line(
        "cache",
        f"{cache.root}, {_free(cache) / 1e9:.0f} GB free{'' if _free(cache) > _FREE_BYTES else ': may be too little'}",
    )
    go = shutil.which("go")
    needed = ".".join(map(str, versions.GO))
    _line(
        "go",
        f"{go}, {run([go, 'version']).split()[2]}"
        if go
        else f"missing; {needed} or later is needed for what has to be built",
    )
    lacking = packages.missing()
    _line("Debian packages", f"missing: {' '.join(lacking)} (packages)" if lacking else "complete")
    _line(
        "root",
        "yes" if os.geteuid() == 0 else "no: only with the machine's own Docker daemon and a published node image",
    )
    for name in (*CONTROL_PLANE, "kwok", "helm", "kind"):
        _line(name, _where(name, cache))
    engine = docker.present(cache)
    if engine is None:
        _line("Docker", "no daemon answers; `kind up` starts one of our own")
    else:
        _line("Docker", "our own daemon" if engine.ours else "the machine's own daemon")
    _line("node image", _node_image(engine, cache))
    cluster = kind.Cluster(kind.DEFAULT_NAME, cache)
    nodes = cluster.nodes(engine) if engine else {}
    _line("kind cluster", ", ".join(f"{name} {state}" for name, state in sorted(nodes.items())) or "none")
    for name in image.names(image.DEFAULT_TAG):
        _line(f"image {name}", "built" if image.built(cache, name) else "not built")


def _line(what: str, text: str) -> None:
    print(f"{what:26} {text}")


def _where(name: str, cache: Cache) -> str:
    found, rejected = programs.look_up(name, cache)
    passed_over = "".join(f"; passed over {each.path}: {each.why}" for each in rejected)
    return (f"{found.path} ({found.source})" if found else "will be built") + passed_over


def _node_image(engine: docker.Engine | None, cache: Cache) -> str:
    if engine is None or engine.ours:
        if engine and engine.has_image(node_image.tag()):
            return f"{node_image.tag()}, made here"
        missing = [name for name in NODE if programs.look_up(name, cache)[0] is None]
        return f"will be made here; to be built for it: {', '.join(missing) or 'nothing'}"
    published = versions.KIND_NODE_IMAGE
    return published if engine.has_image(published) else f"{published} will be pulled, or one made here"


def _free(cache: Cache) -> float:
    existing = next(folder for folder in (cache.root, *cache.root.parents) if folder.exists())
    return float(shutil.disk_usage(existing).free)
