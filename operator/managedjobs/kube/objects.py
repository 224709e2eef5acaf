"""The shapes that all objects share: metadata, lists, watch events, references.

A typed object is a `msgspec.Struct` with a field `metadata` that has `name`, `namespace`, `uid` and
`resource_version` (such as `ObjectMeta`); unknown fields of the server are ignored. A `dict` works as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
Key = tuple[str, str]  # (namespace, name); namespace is "" for cluster-scoped objects
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class OwnerReference(msgspec.Struct, rename="camel", frozen=True):
    """Who owns an object."""

    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(msgspec.Struct, rename="camel"):
    """The part of `metadata` that we read; a resource may bring a smaller one of its own."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class Identity(NamedTuple):
    """What tells one object from another, and one version of it from the next."""

    namespace: str
    name: str
    uid: str
    resource_version: str

    @property
    def key(self) -> Key:
        """(namespace, name)."""
        return (self.namespace, self.name)


def identity_of(item: object) -> Identity:
    """Read the identity out of a typed object or a dict; absent fields are empty strings."""
    if isinstance(item, dict):
        meta: Mapping[str, Any] = item.get("metadata") or {}
        return Identity(
            meta.get("namespace") or "",
            meta.get("name") or "",
            meta.get("uid") or "",
            meta.get("resourceVersion") or "",
        )
    typed: Any = item
    meta_struct = typed.metadata
    return Identity(meta_struct.namespace or "", meta_struct.name, meta_struct.uid, meta_struct.resource_version)


@dataclass(slots=True)
class Listing(Generic[T]):
    """All objects of one consistent list, and the resourceVersion to watch from.

    `unreadable` names objects that exist but don't fit the type (with the reason): they are not gone.
    """

    items: list[T]
    resource_version: str
    unreadable: dict[Key, str] = field(default_factory=dict)


class WatchEvent(NamedTuple, Generic[T]):
    """One line of a watch; `object` is None for a BOOKMARK, which only moves `resource_version` on."""

    type: EventType
    object: T | None
    resource_version: str


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """What an Event is about."""

    api_version: str
    kind: str
    namespace: str  # "" for a cluster-scoped object
    name: str
    uid: str = ""


def micro_time(moment: datetime) -> str:
    """A MicroTime as the API writes it; `moment` is in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
