"""What is known of a set of objects, kept right by lists, watch events and the results of our own writes."""

from collections.abc import Callable
from typing import Generic, TypeVar

from managedjobs.kube.objects import Identity, Key, Listing, WatchEvent, identity_of

T = TypeVar("T")
OnChange = Callable[[T | None, T | None], None]


def is_newer(version: str, than: str) -> bool:
    """Whether resourceVersion `version` is later than `than`; one that is not a number counts as later."""
    if version.isdigit() and than.isdigit():
        return int(version) > int(than)
    return version != than


def _ignore(_old: object, _new: object) -> None:
    """For a cache that is only read."""


class Cache(Generic[T]):
    """The latest known version of each object, by (namespace, name).

    `on_change(old, new)` is called for each real difference, after it was stored; `old` is always what the last
    call for that name gave as `new`. An object that was re-created under its name is a deletion and an addition.
    """

    def __init__(self, on_change: OnChange[T] | None = None) -> None:
        self.objects: dict[Key, T] = {}
        self._on_change: OnChange[T] = _ignore if on_change is None else on_change
        self._horizon = ""  # the resourceVersion up to which lists and events have told us everything

    def get(self, namespace: str, name: str) -> T | None:
        """The object, or None; `namespace` "" for cluster-scoped ones."""
        return self.objects.get((namespace, name))

    def replace(self, listing: Listing[T]) -> None:
        """Take over a consistent list; what is missing in it is gone, however long we did not look."""
        # A history that went back (etcd restored from a backup) makes every version that we hold void.
        rewound = bool(self._horizon) and is_newer(self._horizon, listing.resource_version)
        listed = set(listing.unreadable)  # those exist: unknown is not gone
        for item in listing.items:
            identity = identity_of(item)
            listed.add(identity.key)
            self._put(item, identity, force=rewound)
        for key in [key for key in self.objects if key not in listed]:
            written_later = is_newer(identity_of(self.objects[key]).resource_version, listing.resource_version)
            if rewound or not written_later:
                self._remove(key)
        self._horizon = listing.resource_version

    def apply(self, event: WatchEvent[T]) -> None:
        """Take over one event of a watch that goes on from what is known."""
        if event.object is not None:
            identity = identity_of(event.object)
            if event.type == "DELETED":
                known = self.objects.get(identity.key)
                if known is not None and identity_of(known).uid == identity.uid:
                    self._remove(identity.key)
            else:
                self._put(event.object, identity)
        if event.resource_version:
            self._horizon = event.resource_version

    def offer(self, item: T) -> None:
        """Take over the answer to our own write, before the watch brings it."""
        identity = identity_of(item)
        if identity.key not in self.objects and not is_newer(identity.resource_version, self._horizon):
            return  # the watch is already past this version, so the object has been deleted since
        self._put(item, identity)

    def _put(self, item: T, identity: Identity, *, force: bool = False) -> None:
        known = self.objects.get(identity.key)
        if known is not None:
            before = identity_of(known)
            if before.uid == identity.uid and before.resource_version == identity.resource_version:
                return
            if not force and not is_newer(identity.resource_version, before.resource_version):
                return
            if before.uid != identity.uid:
                self._remove(identity.key)
                known = None
        self.objects[identity.key] = item
        self._on_change(known, item)

    def _remove(self, key: Key) -> None:
        self._on_change(self.objects.pop(key), None)
