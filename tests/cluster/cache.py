"""Where everything is kept: programs, images, the state of running clusters."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


@dataclass(frozen=True)
class Cache:
    """The folder that outlives clusters; delete it to start cold."""

    root: Path

    @classmethod
    def default(cls) -> "Cache":
        """MANAGEDJOBS_CACHE, or `managedjobs` in the user's cache folder."""
        if given := os.environ.get("MANAGEDJOBS_CACHE"):
            return cls(Path(given).absolute())
        base = os.environ.get("XDG_CACHE_HOME")
        return cls((Path(base) if base else Path.home() / ".cache") / "managedjobs")

    @property
    def bin(self) -> Path:
        """Programs for this machine."""
        return self.root / "bin"

    @property
    def node_bin(self) -> Path:
        """Programs for the node image only: on PATH, a second containerd shim would break the Docker daemon."""
        return self.root / "node" / "bin"

    @property
    def node(self) -> Path:
        """The parts of the kind node image."""
        return self.root / "node"

    @property
    def images(self) -> Path:
        """Layers and archives of the project's own images."""
        return self.root / "images"

    @property
    def run(self) -> Path:
        """State of what runs now: process ids, kubeconfigs, logs."""
        return self.root / "run"

    @property
    def kind_kubeconfig(self) -> Path:
        """The kubeconfig of the kind cluster, at one place whatever made the cluster."""
        return self.root / "kind.kubeconfig"

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Keeps two runs from making the same thing at once; let go by the kernel if the holder dies."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
