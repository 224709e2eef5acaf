"""The memory of the fake API server: objects, their versions, and the history that watches are served from."""

import copy
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


class Refusal(Exception):  # noqa: N818 - an answer, not an accident
    """A request that the server answers with a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Change:
    """One entry of the history: what happened at which version to an object of which collection."""

    version: int
    type: str
    collection: str  # the path of all objects of the resource, in all namespaces
    object: Object


def merged(old: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON value
    """`old` after the JSON merge patch `patch` (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def matches_selector(item: Object, selector: str) -> bool:
    """Whether an equality label selector (`a=b,c=d`) fits."""
    labels = item["metadata"].get("labels") or {}
    wanted = [part.split("=", 1) for part in selector.split(",") if part]
    return all(labels.get(key) == value for key, value in wanted)


class FakeStore:
    """Objects by (collection, namespace, name), with one counter of versions for all, like etcd."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.history: list[Change] = []
        self.oldest = 0  # versions before this one were compacted away
        self.on_change: Callable[[Change], None] = lambda _change: None
        self._counter = itertools.count(101)
        self.version = 100

    def select(self, collection: str, namespace: str, selector: str) -> Iterator[Object]:
        """The objects that a list shows, by name."""
        for (where, space, _), item in sorted(self.objects.items()):
            if where == collection and namespace in ("", space) and matches_selector(item, selector):
                yield item

    def get(self, collection: str, namespace: str, name: str) -> Object:
        """One object, or a 404."""
        try:
            return self.objects[(collection, namespace, name)]
        except KeyError:
            raise Refusal(404, "NotFound", f'{collection.rpartition("/")[2]} "{name}" not found') from None

    def create(self, collection: str, namespace: str, body: Mapping[str, Any], *, dry_run: bool = False) -> Object:
        """A new object, or a 409."""
        name = body["metadata"]["name"]
        if (collection, namespace, name) in self.objects:
            raise Refusal(409, "AlreadyExists", f'"{name}" already exists')
        item = copy.deepcopy(dict(body))
        given = {"uid": str(uuid.uuid4()), "creationTimestamp": "2026-01-02T03:04:05Z"}
        item["metadata"] |= given | ({"namespace": namespace} if namespace else {})
        return item if dry_run else self._write("ADDED", collection, item)

    def patch(self, collection: str, namespace: str, name: str, body: Mapping[str, Any]) -> Object:
        """The merge-patched object, or a 409 when the version in the patch is not the present one."""
        old = self.get(collection, namespace, name)
        wanted = (body.get("metadata") or {}).get("resourceVersion")
        if wanted is not None and wanted != old["metadata"]["resourceVersion"]:
            raise Refusal(409, "Conflict", "the object has been modified")
        return self._write("MODIFIED", collection, merged(old, body))

    def delete(self, collection: str, namespace: str, name: str, preconditions: Mapping[str, str]) -> Object:
        """Delete at once, or a 409 when a precondition does not hold."""
        old = self.get(collection, namespace, name)
        for key, value in preconditions.items():
            if old["metadata"].get(key) != value:
                raise Refusal(409, "Conflict", f"the {key} in the precondition does not match")
        return self._write("DELETED", collection, copy.deepcopy(old))

    def compact(self) -> None:
        """Forget the history: watches from an older version get a 410."""
        self.history.clear()
        self.oldest = self.version

    def changes_since(self, version: int, collection: str) -> list[Change]:
        """The history of a collection after `version`, or a 410."""
        if version < self.oldest:
            raise Refusal(410, "Expired", f"too old resource version: {version} ({self.version})")
        return [change for change in self.history if change.version > version and change.collection == collection]

    def _write(self, kind: str, collection: str, item: Object) -> Object:
        self.version = next(self._counter)
        item["metadata"]["resourceVersion"] = str(self.version)
        key = (collection, item["metadata"].get("namespace", ""), item["metadata"]["name"])
        if kind == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = item
        change = Change(self.version, kind, collection, item)
        self.history.append(change)
        self.on_change(change)
        return item
