"""The API client: get, list, create, patch, delete, watch, and the tail of a log.

Typed by the caller: `type` is a `msgspec.Struct` (see `objects`) or `dict`. All errors are in `errors`.
"""

import contextlib
import random
import re
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from managedjobs.kube.clock import Clock
from managedjobs.kube.codec import decode, decode_page, encode
from managedjobs.kube.credentials import Credentials
from managedjobs.kube.errors import Gone, NotFound
from managedjobs.kube.objects import Key, Listing, WatchEvent
from managedjobs.kube.resources import PODS, Resource
from managedjobs.kube.transport import MERGE_PATCH, Answer, Options, Request, Transport
from managedjobs.kube.watch import read_events

T = TypeVar("T")
Propagation = Literal["Foreground", "Background", "Orphan"]
Texts = list[str]  # inside the class `list` is a method
_WARNING = re.compile(r'^\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_MAX_LOG_BYTES = 64 * 1024  # of a tail: one endless line must not fill the memory


class Client:
    """Talks to one API server; use as `async with Client(load_credentials()) as client`.

    Reads, and deletes that name a uid, are repeated by themselves when the server is busy or away; a create or
    patch only when it certainly had no effect (429, or the connection could not be made).
    """

    def __init__(
        self, credentials: Credentials, *, options: Options | None = None, clock: Clock | None = None
    ) -> None:
        self._transport = Transport(credentials, options or Options(), clock)

    async def __aenter__(self) -> Self:
        """Nothing is opened before the first request."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections; requests under way fail as Unreachable."""
        await self._transport.close()

    @property
    def clock(self) -> Clock:
        """The clock that this client and what is built on it go by."""
        return self._transport.clock

    async def get(self, resource: Resource, namespace: str | None, name: str, type: type[T]) -> T:
        """Read one object, as fresh as the server has it; raises NotFound."""
        request = Request("GET", resource.path(namespace, name), {}, repeatable=True)
        answer = await self._transport.send(request)
        return decode(answer.body, type, str(request))

    async def list(
        self,
        resource: Resource,
        namespace: str | None,
        type: type[T],
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
        resource_version: str | None = None,
    ) -> Listing[T]:
        """Read all objects of one moment, page by page (`limit` each; 0: in one piece).

        Consistent: includes every write that was answered before this call, unless `resource_version` allows
        an older view. `namespace` None: all namespaces.
        """
        params = _selectors(label_selector, field_selector)
        if resource_version is not None:
            params["resourceVersion"] = resource_version
        path = resource.path(namespace)
        try:
            return await self._list_pages(path, params, type, limit)
        except Gone:
            # The list took so long that its moment was compacted away. In one piece it can't happen again.
            return await self._list_pages(path, params, type, 0)

    async def _list_pages(self, path: str, params: Mapping[str, str], kind: type[T], limit: int) -> Listing[T]:
        items: list[T] = []
        unreadable: dict[Key, str] = {}
        page_params = dict(params)
        if limit:
            page_params["limit"] = str(limit)
        while True:
            request = Request("GET", path, page_params, repeatable=True)
            answer = await self._transport.send(request)
            page, bad = decode_page(answer.body, kind, str(request))
            items += page.items or ()
            unreadable |= bad
            if not page.metadata.next_page:
                return Listing(items, page.metadata.resource_version, unreadable)
            page_params["continue"] = page.metadata.next_page
            page_params.pop("resourceVersion", None)  # the token carries it; the server refuses both

    async def create(
        self,
        resource: Resource,
        namespace: str | None,
        body: Mapping[str, Any],
        type: type[T],
        *,
        dry_run: bool = False,
        warnings: Texts | None = None,
    ) -> T:
        """Create an object; raises AlreadyExists. The server's warnings are added to `warnings`.

        After Unreachable or ServerError it may exist: create it again, AlreadyExists then may mean this call.
        """
        params = {"dryRun": "All"} if dry_run else {}
        request = Request("POST", resource.path(namespace), params, encode(body))
        answer = await self._transport.send(request)
        if warnings is not None:
            warnings += _warnings(answer)
        return decode(answer.body, type, str(request))

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Mapping[str, Any],
        type: type[T],
        *,
        subresource: str | None = None,
    ) -> T:
        """Merge-patch an object. With `metadata.resourceVersion` in `body`, Conflict when it changed since."""
        path = resource.path(namespace, name, subresource)
        request = Request("PATCH", path, {}, encode(body), MERGE_PATCH)
        answer = await self._transport.send(request)
        return decode(answer.body, type, str(request))

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        resource_version: str | None = None,
    ) -> bool:
        """Delete an object; false when there was none. Conflict when its uid or resourceVersion is another."""
        expected = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in expected.items() if value is not None}
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        if propagation is not None:
            options["propagationPolicy"] = propagation
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        path = resource.path(namespace, name)
        request = Request("DELETE", path, {}, encode(options), repeatable=uid is not None)
        try:
            await self._transport.send(request)
        except NotFound as error:
            return error.in_doubt  # gone by our own first try, whose answer was lost
        return True

    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        type: type[T],
        *,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """The changes since `resource_version`, with bookmarks, until the server ends the watch after some minutes.

        Raises Gone (list again), Unreachable after a cut or a long silence (watch again), or another KubeError.
        Close it (`contextlib.aclosing`) when leaving early.
        """
        options = self._transport.options
        params = _selectors(label_selector, field_selector)
        params |= {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            # Spread, so that the watches of many pods don't all end together.
            "timeoutSeconds": str(round(options.watch_timeout * random.uniform(0.8, 1.2)) or 1),
        }
        request = Request("GET", resource.path(namespace), params)
        async with self._transport.stream(request, options.watch_inactivity) as response:
            events = read_events(response.content, type, f"watch of {request.path}")
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event

    async def logs_tail(
        self, namespace: str, pod: str, container: str, lines: int, *, previous: bool = False
    ) -> Texts:
        """The last `lines` lines that a container wrote, at most 64 KiB of them; BadRequest when it never started."""
        params = {"container": container, "tailLines": str(lines)}
        if previous:
            params["previous"] = "true"
        request = Request("GET", PODS.path(namespace, pod, "log"), params, repeatable=True)
        answer = await self._transport.send(request)
        return answer.body[-_MAX_LOG_BYTES:].decode("utf-8", "replace").splitlines()


def _selectors(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    """The query parameters of the selectors that are given."""
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in chosen.items() if value}


def _warnings(answer: Answer) -> Texts:
    """The texts of the Warning headers: `299 - "text"`, with quotes escaped."""
    found = (_WARNING.match(header) for header in answer.warnings)
    return [re.sub(r"\\(.)", r"\1", match.group(1)) for match in found if match]
