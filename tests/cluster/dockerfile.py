"""The project's images by `docker build`: for people who are not root, but have Docker and an image registry."""

from tests.cluster import image
from tests.cluster.cache import REPOSITORY
from tests.cluster.console import step
from tests.cluster.docker import Engine

DOCKERFILE = REPOSITORY / "operator" / "Dockerfile"


def build(engine: Engine, tag: str) -> list[str]:
    """Builds both images into the Docker daemon; returns their names."""
    ours, examples = image.names(tag)
    for name, target in ((ours, ()), (examples, ("--target", "system"))):
        with step(f"docker build of {name}"):
            engine.docker("build", "--file", DOCKERFILE, "--tag", name, *target, REPOSITORY)
    return [ours, examples]
