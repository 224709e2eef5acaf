"""The shape of an Event (events.k8s.io/v1), and what makes two of them the same."""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from managedjobs.kube.errors import one_line
from managedjobs.kube.objects import ObjectRef, micro_time

EventKind = Literal["Normal", "Warning"]

MAX_NOTE = 1024  # bytes of UTF-8, whatever the server's refusal says of characters
_MAX_SHORT = 128  # bytes of reason, action and instance
_MAX_NAME = 253


class Note(NamedTuple):
    """What is told about an object; two that are equal are one Event that happened twice."""

    regarding: ObjectRef
    kind: EventKind
    reason: str
    text: str
    action: str


def note(regarding: ObjectRef, kind: EventKind, reason: str, text: str, action: str) -> Note:
    """A note, cut to the lengths that the API server takes."""
    return Note(regarding, kind, _cut(reason, _MAX_SHORT), _cut(text, MAX_NOTE), _cut(action, _MAX_SHORT))


def _cut(text: str, limit: int) -> str:
    """`text` on one line, in at most `limit` bytes of UTF-8, never ending in half a character."""
    flat = one_line(text, limit)
    if len(flat.encode()) <= limit:
        return flat
    ellipsis = "…"
    return flat.encode()[: limit - len(ellipsis.encode())].decode("utf-8", "ignore") + ellipsis


def event_namespace(regarding: ObjectRef) -> str:
    """Where the Event goes: next to its object, or to `default` for a cluster-scoped one."""
    return regarding.namespace or "default"


def event_name(regarding: ObjectRef, serial: str) -> str:
    """A name for a new Event; `serial` makes it unique."""
    return f"{regarding.name[: _MAX_NAME - len(serial) - 1].rstrip('.-')}.{serial}"


def event_body(told: Note, name: str, happened_at: datetime, component: str, instance: str) -> dict[str, Any]:
    """The Event to create; `component` is what `kubectl describe` shows as From."""
    ref = told.regarding
    regarding = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name}
    regarding |= {key: value for key, value in (("namespace", ref.namespace), ("uid", ref.uid)) if value}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": event_namespace(ref)},
        "eventTime": micro_time(happened_at),
        "type": told.kind,
        "reason": told.reason,
        "note": told.text,
        "action": told.action,
        "regarding": regarding,
        "reportingController": component,
        "reportingInstance": _cut(instance, _MAX_SHORT),
    }


def series_body(count: int, last_at: datetime) -> dict[str, Any]:
    """The merge patch that says how often an Event has happened so far, `count` of 2 or more."""
    return {"series": {"count": count, "lastObservedTime": micro_time(last_at)}}
