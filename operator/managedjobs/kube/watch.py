"""Reading a watch: a stream of bytes to events."""

import logging
from collections.abc import AsyncGenerator
from typing import TypeVar, cast

import aiohttp
import msgspec

from managedjobs.kube.codec import decode, decode_error, decode_resource_version, decode_watch_line
from managedjobs.kube.errors import Unreadable
from managedjobs.kube.objects import EventType, WatchEvent, identity_of
from managedjobs.kube.transport import as_unreachable

logger = logging.getLogger(__name__)
T = TypeVar("T")


async def read_events(
    content: aiohttp.StreamReader, kind: type[T], request: str
) -> AsyncGenerator[WatchEvent[T], None]:
    """The events of one open watch, until the server ends it.

    Raises Gone when the resourceVersion is too old, another ApiError as the server says, Unreachable when the
    connection breaks or is silent for too long, Unreadable when what comes is not a watch.
    """
    rest = b""
    while True:
        with as_unreachable(request):
            chunk = await content.readany()
        if not chunk:
            return  # a line without its end was cut off: the next watch brings it again
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            event = _parse(line, kind, request)
            if event is not None:
                yield event


def _parse(line: bytes, kind: type[T], request: str) -> WatchEvent[T] | None:
    """One line as an event; None for an object that does not fit `kind`: what we knew of it stays."""
    if not line.strip():
        return None
    try:
        envelope = decode_watch_line(line)
    except msgspec.DecodeError as error:
        raise Unreadable(f"{error} in {line[:80]!r}", request=request) from error
    if envelope.type == "ERROR":
        raise decode_error(0, envelope.object, {}, request)
    if envelope.type == "BOOKMARK":
        return WatchEvent("BOOKMARK", None, decode_resource_version(envelope.object, request))
    if envelope.type not in ("ADDED", "MODIFIED", "DELETED"):
        raise Unreadable(f"unknown event type {envelope.type!r}", request=request)
    try:
        item = decode(envelope.object, kind, request)
    except Unreadable as error:
        logger.warning("object ignored", extra={"error": str(error)})
        return None
    return WatchEvent(cast(EventType, envelope.type), item, identity_of(item).resource_version)
