"""A kind cluster: a control-plane node and workers, with real pods.

With the published node image where it can be had, else with one that is made here (`node_image`).
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tests.cluster import docker, node_image, programs, versions
from tests.cluster.cache import Cache
from tests.cluster.console import ClusterError, duration, run, say, step, succeeds, wait_until
from tests.cluster.docker import Engine

DEFAULT_NAME: Final = "managedjobs"
DEFAULT_WORKERS: Final = 2
READY_SECONDS: Final = 180
PULL_SECONDS: Final = 300
NETWORK: Final = "kind"


class Next(Enum):
    """What has to be done to get from what is there to a working cluster."""

    USE = "it runs"
    START_NODES = "some of its nodes are stopped"
    CREATE = "there is none"
    REPLACE = "it is broken, or has another number of nodes"


@dataclass(frozen=True)
class Seen:
    """What is there: the state of each node's container (as Docker names it), and whether the API server answers."""

    containers: Mapping[str, str]
    answers: bool = False


def decide(seen: Seen, name: str, workers: int | None) -> Next:
    """What to do about a cluster of this name; `workers` None takes any number of them.

    A control plane that was stopped is not started again: its containers may come back with other addresses,
    on which their certificates and routes do not agree. A new cluster takes less than a minute.
    """
    if not seen.containers:
        return Next.CREATE
    if workers is not None and len(seen.containers) != workers + 1:
        return Next.REPLACE
    if seen.containers.get(f"{name}-control-plane") != "running" or not seen.answers:
        return Next.REPLACE
    if any(state != "running" for state in seen.containers.values()):
        return Next.START_NODES
    return Next.USE


@dataclass(frozen=True)
class Cluster:
    """A kind cluster by its name, whether it runs or not."""

    name: str
    cache: Cache

    @property
    def kubeconfig(self) -> Path:
        """Where its kubeconfig is while it runs."""
        return self.cache.root / ("kind.kubeconfig" if self.name == DEFAULT_NAME else f"kind-{self.name}.kubeconfig")

    def nodes(self, engine: Engine) -> dict[str, str]:
        """Name and state of each node's container."""
        labels = f"label=io.x-k8s.kind.cluster={self.name}"
        listed = engine.docker("ps", "--all", "--filter", labels, "--format", "{{.Names}} {{.State}}")
        return dict(line.split(maxsplit=1) for line in listed.splitlines())

    def kubectl(self, *args: str, timeout: float = 60) -> bool:
        """Whether a kubectl command ends well."""
        program = programs.path_of("kubectl", self.cache)
        return succeeds([program, f"--kubeconfig={self.kubeconfig}", *args], timeout=timeout)

    def up(self, workers: int | None = DEFAULT_WORKERS) -> Path:
        """Makes sure that the cluster runs and all its nodes are ready; returns the kubeconfig's path."""
        start = time.monotonic()
        programs.ensure(["kind", "kubectl"], self.cache)
        engine = docker.ensure(self.cache)
        with self.cache.lock(f"kind-{self.name}"):
            self._bring_up(engine, workers)
        nodes = self.nodes(engine)
        say(f"  kind cluster {self.name}: {len(nodes)} nodes ready ({duration(time.monotonic() - start)})")
        return self.kubeconfig

    def down(self) -> None:
        """Removes the cluster, and after the last one a Docker daemon of ours with all its traces."""
        engine = docker.present(self.cache)
        if engine is None and docker.left_containers(self.cache):
            say("  a Docker daemon of ours died and left containers; it is started once more to remove them")
            engine = docker.ensure(self.cache)
        if engine is None:
            docker.stop(self.cache)
        else:
            with step(f"removing kind cluster {self.name}"):
                self._remove(engine)
            if engine.ours and not _clusters(engine):
                _tidy(engine)
                with step("stopping our Docker daemon"):
                    docker.stop(self.cache)
        self.kubeconfig.unlink(missing_ok=True)

    def kill_node(self, node: str) -> None:
        """Ends a node at once, as a power cut would; it is NotReady after about 50 s."""
        self._engine().docker("kill", node)

    def start_node(self, node: str) -> None:
        """Brings a node that was killed back; returns when its kubelet reports again, and that it is ready."""
        before = self._last_report(node)
        self._engine().docker("start", node)
        wait_until(lambda: self._last_report(node) != before, f"report of {node}", READY_SECONDS, every=0.5)
        if not self.kubectl(
            "wait", "--for=condition=Ready", f"node/{node}", f"--timeout={READY_SECONDS}s", timeout=READY_SECONDS
        ):
            raise ClusterError(f"{node} is not ready after {READY_SECONDS} s; {self._diagnosis()}")

    def _last_report(self, node: str) -> str:
        """When the node last renewed its lease; its conditions stay as they were for 50 s after its death."""
        wanted = ("get", "lease", node, "--namespace=kube-node-lease", "--output=jsonpath={.spec.renewTime}")
        return run([programs.path_of("kubectl", self.cache), f"--kubeconfig={self.kubeconfig}", *wanted])

    def _engine(self) -> Engine:
        if engine := docker.present(self.cache):
            return engine
        raise ClusterError(f"kind cluster {self.name} is not up (python3 -m tests.cluster kind up)")

    def _bring_up(self, engine: Engine, workers: int | None) -> None:
        seen = self._look(engine)
        match decide(seen, self.name, workers):
            case Next.USE:
                if self._ready(timeout=30):
                    return
                self._replace(engine, workers, "its nodes do not become ready")
            case Next.START_NODES:
                stopped = [node for node, state in seen.containers.items() if state != "running"]
                with step(f"starting {', '.join(stopped)}"):
                    started = self._start_nodes(stopped)
                if not started:
                    self._replace(engine, workers, "its nodes do not come back")
            case Next.CREATE:
                self._create(engine, DEFAULT_WORKERS if workers is None else workers)
            case Next.REPLACE:
                self._replace(engine, workers, Next.REPLACE.value)

    def _start_nodes(self, nodes: Iterable[str]) -> bool:
        try:
            for node in nodes:
                self.start_node(node)
        except ClusterError as error:
            say(f"  {error}")
            return False
        return self._ready(timeout=90)

    def _look(self, engine: Engine) -> Seen:
        containers = self.nodes(engine)
        if containers.get(f"{self.name}-control-plane") != "running":
            return Seen(containers)
        self._kind(engine, "export", "kubeconfig", "--kubeconfig", self.kubeconfig)
        return Seen(containers, self.kubectl("get", "--raw=/readyz", "--request-timeout=10s"))

    def _ready(self, timeout: int) -> bool:
        """All nodes ready, names resolved, and the first pod not refused for want of its service account."""
        waits = (
            ("wait", "--for=condition=Ready", "node", "--all"),
            ("wait", "--for=create", "serviceaccount/default", "--namespace=default"),
            ("rollout", "status", "deployment/coredns", "--namespace=kube-system"),
        )
        return all(self.kubectl(*words, f"--timeout={timeout}s", timeout=timeout + 10) for words in waits)

    def _replace(self, engine: Engine, workers: int | None, why: str) -> None:
        say(f"  kind cluster {self.name} is replaced: {why}")
        count = len(self.nodes(engine)) - 1 if workers is None else workers
        self._remove(engine)
        self._create(engine, max(count, 1))

    def _create(self, engine: Engine, workers: int) -> None:
        image, home_made = _choose_image(engine, self.cache)
        if home_made and not engine.succeeds("network", "inspect", NETWORK):
            engine.docker("network", "create", NETWORK)  # IPv4 only: kind's own would ask for IPv6 as well
        config = self.cache.run / f"kind-{self.name}.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps(configuration(self.name, workers, image, home_made=home_made), indent=1))
        with step(f"creating kind cluster {self.name} with {workers} workers from {image.partition('@')[0]}"):
            self._kind(engine, "create", "cluster", "--config", config, "--kubeconfig", self.kubeconfig)
            if not self._ready(READY_SECONDS):
                raise ClusterError(
                    f"the nodes of {self.name} are not ready after {READY_SECONDS} s; {self._diagnosis()}"
                )

    def _remove(self, engine: Engine) -> None:
        self._kind(engine, "delete", "cluster", "--kubeconfig", self.kubeconfig)

    def _diagnosis(self) -> str:
        program = programs.path_of("kubectl", self.cache)
        return run([program, f"--kubeconfig={self.kubeconfig}", "get", "nodes,pods", "--all-namespaces", "-o", "wide"])

    def _kind(self, engine: Engine, verb: str, what: str, *args: str | Path) -> None:
        program = programs.path_of("kind", self.cache)
        name = () if "--config" in args else ("--name", self.name)
        run([program, verb, what, *name, *args], env=engine.environment)


def configuration(name: str, workers: int, image: str, *, home_made: bool) -> dict[str, object]:
    """kind's configuration. The home-made image brings a pod network of its own, and takes cgroup v1 as well."""
    nodes = [{"role": role, "image": image} for role in ("control-plane", *["worker"] * workers)]
    config: dict[str, object] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": name,
        "nodes": nodes,
    }
    if home_made:
        config["networking"] = {"disableDefaultCNI": True, "kubeProxyMode": "nftables"}
        config["kubeadmConfigPatches"] = ["kind: KubeletConfiguration\nfailCgroupV1: false\n"]
    return config


def _choose_image(engine: Engine, cache: Cache) -> tuple[str, bool]:
    """The image for the nodes, and whether it is made here."""
    published = versions.KIND_NODE_IMAGE
    if not engine.ours:
        if engine.has_image(published):
            return published, False
        with step(f"pulling {published.partition('@')[0]}"):
            if engine.succeeds("pull", "--quiet", published, timeout=PULL_SECONDS):
                return published, False
        say("  it can't be pulled; the node image is made here instead")
    return node_image.ensure(engine, cache), True


def _clusters(engine: Engine) -> set[str]:
    """Names of the clusters that have any container."""
    label = "io.x-k8s.kind.cluster"
    listed = engine.docker("ps", "--all", "--filter", f"label={label}", "--format", f'{{{{.Label "{label}"}}}}')
    return set(listed.split())


def _tidy(engine: Engine) -> None:
    """Removes what a daemon of ours would otherwise keep for ever; images stay."""
    engine.succeeds("network", "rm", NETWORK)
    engine.succeeds("volume", "prune", "--force")
    engine.succeeds("image", "prune", "--force")
