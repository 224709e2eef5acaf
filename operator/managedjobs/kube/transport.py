"""One HTTP exchange with the API server, and the rules for repeating it."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from managedjobs import __version__
from managedjobs.kube.backoff import Backoff, pause
from managedjobs.kube.bucket import TokenBucket
from managedjobs.kube.clock import Clock, SystemClock
from managedjobs.kube.codec import decode_error
from managedjobs.kube.credentials import Credentials
from managedjobs.kube.errors import ApiError, KubeError, ServerError, TooManyRequests, Unauthorized, Unreachable

logger = logging.getLogger(__name__)

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a client behaves; times in seconds."""

    request_timeout: float = 10.0  # for one try of anything but a watch
    attempts: int = 5  # tries of what is safe to repeat; 1: never repeat
    retry_initial: float = 0.1
    retry_max: float = 5.0
    retry_after_max: float = 30.0  # a server that asks for more patience gets the error handed to the caller
    retry_deadline: float = 30.0  # no new try begins later than this after the first
    connections: int = 32  # at most, apart from watches
    qps: float | None = None  # requests per second; None: the server's own fairness does it
    burst: int = 100
    watch_timeout: int = 300  # how long the server should keep a watch open
    watch_inactivity: float = 90.0  # bookmarks come once a minute: a longer silence is a dead connection
    user_agent: str = f"managedjobs/{__version__}"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `repeatable`: doing it twice is the same as doing it once."""

    method: str
    path: str
    params: Mapping[str, str]
    body: bytes | None = None
    content_type: str = JSON
    repeatable: bool = False

    def __str__(self) -> str:
        """What stands in errors and logs."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: status 2xx."""

    body: bytes
    warnings: tuple[str, ...]


def may_repeat(error: KubeError, *, repeatable: bool) -> bool:
    """Whether the same request may be sent again after `error`.

    A server that answered 429 and a request that never left did nothing; everything else that might have
    happened is repeated only when doing it twice does no harm.
    """
    if isinstance(error, TooManyRequests):
        return True
    if isinstance(error, Unreachable):
        return repeatable or not error.sent
    return repeatable and isinstance(error, ServerError)


def _may_have_happened(error: KubeError) -> bool:
    """Whether a write may have taken effect although it ended in `error`."""
    return isinstance(error, ServerError) or (isinstance(error, Unreachable) and error.sent)


class Transport:
    """Sends requests over two pools: one bounded, for short requests, and one for watches."""

    def __init__(self, credentials: Credentials, options: Options, clock: Clock | None = None) -> None:
        self.options = options
        self.clock = clock or SystemClock()
        self._credentials = credentials
        self._bucket = TokenBucket(options.qps, options.burst, self.clock) if options.qps else None
        self._places = asyncio.Semaphore(options.connections)
        self._short: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

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
        for session in (self._short, self._streams):
            if session is not None:
                await session.close()

    async def send(self, request: Request) -> Answer:
        """Do one request, repeating it where `may_repeat` allows; raises the last error."""
        backoff = Backoff(self.options.retry_initial, self.options.retry_max)
        give_up_at = self.clock.monotonic() + self.options.retry_deadline
        in_doubt = False
        while True:
            try:
                return await self._send_authorized(request)
            except (ApiError, Unreachable) as error:
                if isinstance(error, ApiError):
                    error.in_doubt = in_doubt
                in_doubt = in_doubt or _may_have_happened(error)
                delay = max(backoff.next_seconds(), getattr(error, "retry_after", None) or 0.0)
                if (
                    not may_repeat(error, repeatable=request.repeatable)
                    or backoff.failures >= self.options.attempts
                    or delay > self.options.retry_after_max
                    or self.clock.monotonic() + delay > give_up_at
                ):
                    raise
                logger.info("request repeated", extra={"error": str(error), "delay_seconds": round(delay, 3)})
            await pause(delay)

    async def _send_authorized(self, request: Request) -> Answer:
        """One try, and one more with fresh credentials when the server does not know the present ones."""
        try:
            return await self._send_once(request)
        except Unauthorized:
            if not await self._credentials.refresh():
                raise
        return await self._send_once(request)

    async def _send_once(self, request: Request) -> Answer:
        if self._bucket is not None:
            await self._bucket.take()
        if self._short is None:
            self._short = self._session()
        timeout = aiohttp.ClientTimeout(total=self.options.request_timeout)
        # Not aiohttp's own limit: the time that is spent in line for it counts as time without an answer.
        async with self._places, self._exchange(self._short, request, timeout) as response:
            with as_unreachable(str(request)):
                body = await response.read()
            return Answer(body, tuple(response.headers.getall("Warning", ())))

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, inactivity: float) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a long answer; the caller reads its content and turns read errors into Unreachable."""
        if self._bucket is not None:
            await self._bucket.take()
        if self._streams is None:
            self._streams = self._session()
        timeout = aiohttp.ClientTimeout(sock_connect=self.options.request_timeout, sock_read=inactivity)
        try:
            async with self._exchange(self._streams, request, timeout) as response:
                yield response
        except Unauthorized:
            # The caller opens it again; then with what the refresh found.
            await self._credentials.refresh()
            raise

    @contextlib.asynccontextmanager
    async def _exchange(
        self, session: aiohttp.ClientSession, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send, check the status, hand over the open response."""
        url = URL(f"{self._credentials.server}{request.path}?{urlencode(request.params)}", encoded=True)
        headers = dict(self._credentials.headers())
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        with as_unreachable(str(request)):
            response = await session.request(
                request.method,
                url,
                data=request.body,
                headers=headers,
                timeout=limits,
                allow_redirects=False,
                server_hostname=self._credentials.tls_server_name,
                proxy=self._credentials.proxy,
            )
        async with response:
            if not 200 <= response.status < 300:
                with as_unreachable(str(request)):
                    body = await response.read()
                raise decode_error(response.status, body, response.headers, str(request))
            yield response

    def _session(self) -> aiohttp.ClientSession:
        # No cookies and no compression: both cost memory in each controller pod, and the server is near.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._credentials.tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": self.options.user_agent,
                "Accept": JSON,
                "Accept-Encoding": "identity",
            },
            auto_decompress=False,
            middlewares=(_try_once,),
        )


@contextlib.contextmanager
def as_unreachable(request: str) -> Iterator[None]:
    """Turn what aiohttp raises into Unreachable, saying whether the request can have left."""
    try:
        yield
    except aiohttp.ClientSSLError as error:
        raise Unreachable(f"TLS failed: {error}", request=request, sent=False) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Unreachable(f"cannot connect: {error}", request=request, sent=False) from error
    except TimeoutError as error:
        raise Unreachable(f"no answer in time ({type(error).__name__})", request=request) from error
    except (aiohttp.ClientError, ConnectionError, ssl.SSLError) as error:
        text = str(error) or type(error).__name__
        raise Unreachable(f"connection broken: {text}", request=request) from error
    except RuntimeError as error:
        # aiohttp's only word for a session that was closed while it was in use, at shutdown.
        if "closed" not in str(error).lower():
            raise
        raise Unreachable("the client is closed", request=request, sent=False) from error


async def _try_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a DELETE twice by itself: it repeats only on errors of its own."""
    with as_unreachable(f"{request.method} {request.url.raw_path}"):
        return await send(request)
