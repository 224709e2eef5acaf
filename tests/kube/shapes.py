"""Objects that the tests of the client read and write."""

from typing import Any

import msgspec

from managedjobs.kube.objects import ObjectMeta
from managedjobs.kube.resources import Resource

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)


class ConfigMap(msgspec.Struct):
    """A ConfigMap, of which `data` must be strings."""

    metadata: ObjectMeta
    data: dict[str, str] | None = None


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap as it is sent."""
    return {"metadata": {"name": name}, "data": data}
