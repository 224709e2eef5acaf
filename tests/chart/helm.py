"""Runs Helm on the chart and picks things out of what it renders."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.chart.readme import CHART
from tests.cluster.versions import KUBERNETES

Manifest = dict[str, Any]


class HelmError(Exception):
    """Helm said no; the message is what it wrote for people."""


@dataclass(frozen=True)
class Rendered:
    """All manifests of one rendering."""

    manifests: tuple[Manifest, ...]

    def of(self, kind: str) -> dict[str, Manifest]:
        """The manifests of a kind by name (namespace/name where there is more than one namespace's)."""
        found: dict[str, Manifest] = {}
        for manifest in self.manifests:
            if manifest["kind"] == kind:
                metadata = manifest["metadata"]
                name = metadata["name"]
                found[f"{metadata['namespace']}/{name}" if name in found else name] = manifest
        return found

    def one(self, kind: str) -> Manifest:
        """The only manifest of a kind."""
        (manifest,) = self.of(kind).values()
        return manifest

    @property
    def pod(self) -> Manifest:
        """The spec of the operator's pods."""
        spec: Manifest = self.one("Deployment")["spec"]["template"]["spec"]
        return spec

    @property
    def env(self) -> dict[str, str]:
        """The operator's settings as its process sees them, apart from what the node fills in."""
        (container,) = self.pod["containers"]
        return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}

    def rules(self) -> Iterator[tuple[str, Manifest]]:
        """Each rule of each role, with the role's name."""
        for kind in ("ClusterRole", "Role"):
            for manifest in self.of(kind).values():
                for rule in manifest["rules"]:
                    yield f"{kind} {manifest['metadata']['name']}", rule


@dataclass(frozen=True)
class Helm:
    """One Helm program. Without a kubeconfig it knows no cluster."""

    program: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str, values: object = None) -> str:
        """What Helm prints; HelmError with its complaint if it fails. `values` go in as a file, as people do it."""
        command: list[str | Path] = [self.program, *arguments]
        if values is not None:
            command += ["--values", "-"]
        done = subprocess.run(
            command,
            input=json.dumps(values) if values is not None else None,
            capture_output=True,
            text=True,
            check=False,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.kubeconfig.parent if self.kubeconfig else "/nonexistent"),
                "KUBECONFIG": str(self.kubeconfig or "/dev/null"),
            },
        )
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout

    def render(
        self,
        values: object = None,
        *,
        kubernetes: str = KUBERNETES,
        release: str = "managedjobs",
        namespace: str = "managedjobs-system",
    ) -> Rendered:
        """The manifests of `helm template`."""
        command = ("template", release, str(CHART), "--namespace", namespace, "--kube-version", kubernetes)
        printed = self.run(*command, values=values)
        return Rendered(tuple(manifest for manifest in yaml.load_all(printed, yaml.CSafeLoader) if manifest))
