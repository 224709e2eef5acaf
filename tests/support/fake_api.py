"""A small API server in this process, with faults on demand: for what a real one can't be made to do at will.

It knows lists with pages, label selectors by equality, watches with bookmarks and replay, merge patches and
preconditions. It knows no schema, no defaults, no admission: what depends on those is tested on a real one.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from managedjobs.kube.credentials import Credentials, TokenSource
from tests.support.fake_store import Change, FakeStore, Object, Refusal, matches_selector

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass
class _Watch:
    collection: str
    namespace: str
    selector: str
    lines: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)  # None: cut the connection


@dataclass
class _Planned:
    method: str  # GET, POST, …, or WATCH
    times: int
    fault: Fault


class FakeApi:
    """Use as `async with FakeApi() as api`; `api.store` is its memory, `api.seen` all requests."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.store.on_change = self._tell_watches
        self.seen: list[Seen] = []
        self.watches: list[_Watch] = []
        self.before_next_page: Callable[[], None] | None = None  # called once, when a second page is asked for
        self.token: str | None = None  # when set, any other bearer token is a 401
        self._planned: list[_Planned] = []
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._released = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Serve on a free port."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop."""
        await self.stop()

    async def start(self) -> None:
        """Serve; after a stop, on the same port and with the same objects."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Break all connections and refuse new ones."""
        self._released.set()
        self.cut_watches()
        if self._runner is not None:
            await self._runner.cleanup()

    def credentials(self, token: TokenSource | None = None) -> Credentials:
        """How a client gets here."""
        server = f"http://127.0.0.1:{self._port}"
        return Credentials(server, token=token) if token else Credentials(server)

    # Faults: each meets the next `times` requests of a method; WATCH means a GET with watch=1.

    def answer(
        self, method: str, code: int, reason: str = "", *, times: int = 1, headers: Mapping[str, str] | None = None
    ) -> None:
        """Refuse without doing anything."""

        async def fault(_request: web.Request) -> web.StreamResponse:
            return _status(code, reason, f"injected {code}", headers)

        self._planned.append(_Planned(method, times, fault))

    def answer_text(self, method: str, code: int, text: str) -> None:
        """Answer with something that is no API object."""

        async def fault(_request: web.Request) -> web.StreamResponse:
            return web.Response(status=code, text=text)

        self._planned.append(_Planned(method, 1, fault))

    def cut(self, method: str, *, times: int = 1, done: bool = False) -> None:
        """Break the connection instead of answering; with `done` after the request took effect."""
        self._planned.append(_Planned(method, times, lambda request: self._break(request, done=done)))

    def hang(self, method: str, *, times: int = 1, done: bool = False) -> None:
        """Never answer; with `done` after the request took effect."""
        self._planned.append(_Planned(method, times, lambda request: self._break(request, done=done, hang=True)))

    async def _break(self, request: web.Request, *, done: bool, hang: bool = False) -> web.StreamResponse:
        if done:
            await self._handle(request)
        if hang:
            await self._released.wait()
        return _cut(request)

    def cut_watches(self) -> None:
        """Break all open watches."""
        self.send_line(None)

    def send_line(self, line: bytes | None) -> None:
        """Send raw bytes down all open watches; None breaks them."""
        for watch in self.watches:
            watch.lines.put_nowait(line)

    def bookmark(self) -> None:
        """Send all open watches a bookmark of the present version."""
        item = {"metadata": {"resourceVersion": str(self.store.version)}}
        self.send_line(json.dumps({"type": "BOOKMARK", "object": item}).encode() + b"\n")

    def count(self, method: str, **query: str) -> int:
        """How many requests of a method, with such query parameters, have come in."""
        return sum(
            seen.method == method and all(seen.query.get(key) == value for key, value in query.items())
            for seen in self.seen
        )

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        parsed = json.loads(body) if body else None
        self.seen.append(Seen(request.method, request.path, dict(request.query), dict(request.headers), parsed))
        kind = "WATCH" if request.query.get("watch") else request.method
        for planned in self._planned:
            if planned.method == kind and planned.times > 0:
                planned.times -= 1
                return await planned.fault(request)
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized", "Unauthorized")
        try:
            return await self._handle(request)
        except Refusal as refusal:
            return _status(refusal.code, refusal.reason, refusal.message, name=_split(request.path)[2])

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        collection, namespace, name = _split(request.path)
        body = json.loads(await request.read() or b"{}")
        match request.method:
            case "POST":
                dry_run = request.query.get("dryRun") == "All"
                item = self.store.create(collection, namespace, body, dry_run=dry_run)
                return web.json_response(item, status=201)
            case "PATCH":
                return web.json_response(self.store.patch(collection, namespace, name, body))
            case "DELETE":
                expected = body.get("preconditions") or {}
                return web.json_response(self.store.delete(collection, namespace, name, expected))
            case _ if name:
                return web.json_response(self.store.get(collection, namespace, name))
            case _ if request.query.get("watch"):
                return await self._watch(request, collection, namespace)
            case _:
                return self._list(request, collection, namespace)

    def _list(self, request: web.Request, collection: str, namespace: str) -> web.StreamResponse:
        version, start = str(self.store.version), 0
        if token := request.query.get("continue"):
            if "resourceVersion" in request.query:
                raise Refusal(400, "BadRequest", "resourceVersion is forbidden when continue is given")
            version, start = token.split("-")[0], int(token.split("-")[1])
            if self.before_next_page is not None:
                self.before_next_page()
                self.before_next_page = None
            if int(version) < self.store.oldest:
                raise Refusal(410, "Expired", "the provided continue parameter is too old")
        items = list(self.store.select(collection, namespace, request.query.get("labelSelector", "")))
        limit = int(request.query.get("limit", "0")) or len(items)
        more = f"{version}-{start + limit}" if start + limit < len(items) else ""
        metadata = {"resourceVersion": version, "continue": more}
        return web.json_response({"metadata": metadata, "items": items[start : start + limit]})

    async def _watch(self, request: web.Request, collection: str, namespace: str) -> web.StreamResponse:
        watch = _Watch(collection, namespace, request.query.get("labelSelector", ""))
        for change in self.store.changes_since(int(request.query["resourceVersion"]), collection):
            _tell(watch, change)
        response = web.StreamResponse()
        await response.prepare(request)
        self.watches.append(watch)
        try:
            async with asyncio.timeout(int(request.query.get("timeoutSeconds", "300"))):
                while (line := await watch.lines.get()) is not None:
                    await response.write(line)
            return _cut(request)
        except TimeoutError:
            return response
        finally:
            self.watches.remove(watch)

    def _tell_watches(self, change: Change) -> None:
        for watch in self.watches:
            _tell(watch, change)


def _tell(watch: _Watch, change: Change) -> None:
    item = change.object
    fits = watch.collection == change.collection and watch.namespace in ("", item["metadata"].get("namespace", ""))
    if fits and matches_selector(item, watch.selector):
        watch.lines.put_nowait(json.dumps({"type": change.type, "object": item}).encode() + b"\n")


def _split(path: str) -> tuple[str, str, str]:
    """(collection, namespace, name) of a path; a subresource is the object itself here."""
    parts = path.strip("/").split("/")
    size = 2 if parts[0] == "api" else 3
    root, rest = parts[:size], parts[size:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return "/".join([*root, rest[0]]), namespace, rest[1] if len(rest) > 1 else ""


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _status(
    code: int, reason: str, message: str, headers: Mapping[str, str] | None = None, *, name: str = ""
) -> web.Response:
    body: Object = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    if name:
        body["details"] = {"name": name}
    return web.json_response(body, status=code, headers=headers)
