"""The chart as Helm renders it, and a control plane to install it into."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.chart.helm import Helm, Rendered
from tests.cluster import programs
from tests.cluster.cache import Cache
from tests.cluster.controlplane import ControlPlane, control_plane
from tests.support.cluster_fixtures import Kubectl


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Helm, found or built once; it reads no cluster."""
    return Helm(programs.path_of("helm", Cache.default()))


@pytest.fixture(scope="session")
def render(helm: Helm) -> Callable[..., Rendered]:
    """Renders the chart; the same question is asked of Helm once."""
    seen: dict[str, Rendered] = {}

    def ask(values: object = None, release: str = "managedjobs", namespace: str = "managedjobs-system") -> Rendered:
        key = json.dumps([values, release, namespace])
        if key not in seen:
            seen[key] = helm.render(values, release=release, namespace=namespace)
        return seen[key]

    return ask


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A control plane for the chart alone: CRDs that others applied are not Helm's to install over."""
    with control_plane() as plane:
        yield plane


@pytest.fixture(scope="module")
def kubectl(cluster: ControlPlane) -> Kubectl:
    """kubectl as the administrator of that control plane."""
    return Kubectl(cluster.kubeconfig)


@pytest.fixture(scope="module")
def on_cluster(helm: Helm, cluster: ControlPlane) -> Helm:
    """Helm as the administrator of that control plane."""
    return replace(helm, kubeconfig=cluster.kubeconfig)
