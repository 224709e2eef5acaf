"""Puts images onto the nodes of a kind cluster, on all of them at once."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from tests.cluster import docker, image, programs
from tests.cluster.console import ClusterError, run, step
from tests.cluster.docker import Engine
from tests.cluster.kind import Cluster
from tests.cluster.store import Image, Store

_CTR = ("ctr", "--namespace=k8s.io")


def load(cluster: Cluster, names: list[str]) -> None:
    """Loads images by name: ours from where they were built, any other from the Docker daemon."""
    engine = docker.present(cluster.cache)
    nodes = [node for node, state in cluster.nodes(engine).items() if state == "running"] if engine else []
    if engine is None or not nodes:
        raise ClusterError(f"kind cluster {cluster.name} is not up (python3 -m tests.cluster kind up)")
    store = Store(cluster.cache.images)
    for name in names:
        ours = store.get(name)
        with step(f"loading {name} onto {len(nodes)} nodes"):
            if ours is not None:
                with ThreadPoolExecutor(len(nodes)) as pool:
                    list(pool.map(lambda node, part=ours: _import(engine, store, part, node), nodes))
            elif engine.has_image(name):
                kind = programs.path_of("kind", cluster.cache)
                run([kind, "load", "docker-image", name, "--name", cluster.name], env=engine.environment)
            else:
                tip = " (python3 -m tests.cluster image)" if name.partition(":")[0] in _own_names() else ""
                raise ClusterError(f"there is no image {name}{tip}")


def _own_names() -> set[str]:
    return {name.partition(":")[0] for name in image.names(image.DEFAULT_TAG)}


def _import(engine: Engine, store: Store, wanted: Image, node: str) -> None:
    """Sends what the node lacks; all of it if the node turns out to lack more than it said."""
    present = frozenset(engine.docker("exec", node, *_CTR, "content", "ls", "--quiet").split())
    said = _send(engine, store, wanted, node, without=present)
    if said is not None:
        said = _send(engine, store, wanted, node, without=frozenset())
    if said is not None:
        raise ClusterError(f"{node} does not take {wanted.name}: {said}")


def _send(engine: Engine, store: Store, wanted: Image, node: str, without: frozenset[str]) -> str | None:
    """Imports the image on the node; returns what went wrong, or None."""
    command = ["docker", "exec", "--interactive", node, *_CTR, "images", "import", "--all-platforms", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=engine.environment
    ) as importing:
        assert importing.stdin is not None
        assert importing.stdout is not None
        writer = threading.Thread(target=_write, args=(store, wanted, without, importing.stdin))
        writer.start()
        said = importing.stdout.read().decode(errors="replace")
        writer.join()
        return None if importing.wait() == 0 else said


def _write(store: Store, wanted: Image, without: frozenset[str], pipe: IO[bytes]) -> None:
    try:
        with pipe:
            store.stream(wanted, without, pipe)
    except BrokenPipeError:
        return  # it ended early; its exit code says why
