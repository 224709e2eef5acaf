"""Asks the API server, through `kubectl apply`, what it thinks of objects."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import CompletedProcess

from tests.crds.objects import Manifest
from tests.support.cluster_fixtures import Kubectl

_DONE = re.compile(r"^\S+/(\S+) (created|configured|unchanged)(?: \(server dry run\))?$", re.MULTILINE)
_REFUSED = re.compile(
    r'^(?:Error from server \(Invalid\): .*?|The \w+ )"(?P<name>\S+)" is invalid: (?P<why>.*?)'
    r"(?=^Error from server|^The \w+ \"|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Server:
    """The API server with our CRDs, and a namespace in it for jobs."""

    kubectl: Kubectl
    namespace: str

    def refusal(self, manifest: Manifest) -> str:
        """What kubectl says when the object is refused, "" when it is accepted; nothing is stored."""
        return self.apply(manifest, flags=["--dry-run=server"]).stderr

    def refusals(self, manifests: Sequence[Manifest]) -> list[str]:
        """`refusal` of many objects in one call, under names of its own; none may have a misspelt field."""
        named = [{**m, "metadata": {**m["metadata"], "name": f"case-{n}"}} for n, m in enumerate(manifests)]
        return self.refusals_by_name(named)

    def refusals_by_name(self, manifests: Sequence[Manifest]) -> list[str]:
        """`refusals`, for objects that keep their own (different) names."""
        done = self.apply(*manifests, flags=["--dry-run=server"])
        answers = dict.fromkeys((match[1] for match in _DONE.finditer(done.stdout)), "")
        answers |= {match["name"]: match["why"] for match in _REFUSED.finditer(done.stderr)}
        unanswered = [m["metadata"]["name"] for m in manifests if m["metadata"]["name"] not in answers]
        if unanswered:
            raise AssertionError(f"kubectl said nothing of {unanswered}:\n{done.stderr[:5000]}")
        return [answers[m["metadata"]["name"]] for m in manifests]

    def store(self, *manifests: Manifest, flags: Sequence[str] = ()) -> list[str]:
        """Applies objects for real; returns a word for each: created, configured or unchanged."""
        done = self.apply(*manifests, flags=flags)
        if done.returncode:
            raise AssertionError(f"kubectl apply failed: {done.stderr}")
        return [match[2] for match in _DONE.finditer(done.stdout)]

    def apply(self, *manifests: Manifest, flags: Sequence[str] = ()) -> CompletedProcess[str]:
        """Runs `kubectl apply` on objects, whatever comes of it."""
        # Documents, not a List: kubectl checks what is in a List by itself and never asks the server.
        documents = "\n---\n".join(json.dumps(manifest) for manifest in manifests)
        return self.kubectl("apply", "-n", self.namespace, *flags, "-f", "-", input=documents, check=False)

    def write_statuses(self, *manifests: Manifest) -> None:
        """Applies the statuses of stored objects; `kubectl patch` would wait 0.2 s between two of them."""
        done = self.apply(*manifests, flags=["--server-side", "--subresource=status"])
        if done.returncode:
            raise AssertionError(f"kubectl apply --subresource=status failed: {done.stderr}")

    def patch_status(self, kind: str, names: Sequence[str], status: Manifest, *flags: str) -> str:
        """Merges into the status of objects; returns what kubectl says when that is refused, else ""."""
        body = json.dumps({"status": status})
        command = ("patch", kind, *names, "-n", self.namespace, "--subresource=status", "--type=merge", "-p", body)
        return self.kubectl(*command, *flags, check=False).stderr

    def get(self, kind: str, name: str, *flags: str) -> Manifest:
        """The object as it is stored."""
        found: Manifest = self.kubectl.get(kind, name, "-n", self.namespace, *flags)
        return found

    def clear(self) -> None:
        """Deletes all jobs of the namespace, in one request."""
        self.kubectl("delete", "--raw", f"/apis/managedjobs.dev/v1alpha1/namespaces/{self.namespace}/managedjobs")
