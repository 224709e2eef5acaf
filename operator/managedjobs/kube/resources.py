"""The API resources that this project touches, and their addresses."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object and where it lives; `group` is empty for the core API."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """What stands in `apiVersion` of such an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """The path on the API server; `namespace` None means all namespaces, or a cluster-scoped resource."""
        if name is not None and self.namespaced and not namespace:
            raise ValueError(f"{self.plural} {name!r}: a namespace is needed to name one {self.kind}")
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part is not None]
        return "/" + "/".join(quote(part, safe="") for part in parts)


MANAGED_JOBS = Resource("managedjobs.dev", "v1alpha1", "managedjobs", "ManagedJob", namespaced=True)
CONTROLLER_POOLS = Resource("managedjobs.dev", "v1alpha1", "controllerpools", "ControllerPool", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
SERVICES = Resource("", "v1", "services", "Service", namespaced=True)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", namespaced=True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
