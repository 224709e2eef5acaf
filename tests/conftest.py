"""Fixtures for every test of the project."""

from tests.support.cluster_fixtures import (
    cluster_kubeconfig,
    control_plane,
    kind_cluster,
    kind_image,
    kubectl,
    namespace,
)

__all__ = ["cluster_kubeconfig", "control_plane", "kind_cluster", "kind_image", "kubectl", "namespace"]
