"""Builds the images of the checkout, by the way that is open: by root without any daemon, else by `docker build`."""

import os

from tests.cluster import docker, image
from tests.cluster.cache import REPOSITORY, Cache
from tests.cluster.console import say, step
from tests.cluster.docker import Engine

DOCKERFILE = REPOSITORY / "operator" / "Dockerfile"


def build(cache: Cache, tag: str = image.DEFAULT_TAG) -> list[str]:
    """Builds both images of what the checkout holds now; returns their names, ours first."""
    if os.geteuid() != 0 and (engine := docker.machine()):
        return _by_docker(engine, tag)
    built = image.build(cache, tag)
    for each in built:
        say(f"  {each.name}: {each.size / 1e6:.0f} MB")
    return [each.name for each in built]


def _by_docker(engine: Engine, tag: str) -> list[str]:
    ours, examples = image.names(tag)
    for name, target in ((ours, ()), (examples, ("--target", "system"))):
        with step(f"docker build of {name}"):
            engine.docker("build", "--file", DOCKERFILE, "--tag", name, *target, REPOSITORY)
    return [ours, examples]
