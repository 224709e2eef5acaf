"""Root file systems by debootstrap, kept in the cache."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.cluster import versions
from tests.cluster.console import ClusterError, run, step

_USELESS: Final = (
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/aarch64-linux-gnu/gconv",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bash-completion",
)


def recipe(packages: Sequence[str]) -> str:
    """What a root file system with these packages is made from; another text is another system."""
    return f"{versions.DEBIAN}: {' '.join(sorted(packages))}\nwithout: {' '.join(_USELESS)}\n"


def bootstrap(root: Path, packages: Sequence[str], log: Path) -> None:
    """Fills a folder with a minimal Debian and these packages; does nothing if that was done before."""
    wanted = recipe(packages)
    stamp = root.parent / f"{root.name}.is"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if os.geteuid() != 0:
        raise ClusterError("making a Debian root file system needs root (debootstrap)")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with step(f"Debian {versions.DEBIAN} with {len(packages)} packages, by debootstrap"):
        run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", versions.DEBIAN, root], log=log)
    for useless in (
        *_USELESS,
        "var/cache/apt",
        "var/lib/apt/lists",
        "var/log",
        "var/cache/debconf",
        "var/cache/ldconfig",
    ):
        shutil.rmtree(root / useless, ignore_errors=True)
        if useless.startswith("var/"):
            (root / useless).mkdir()
    stamp.write_text(wanted)
