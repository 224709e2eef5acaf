"""The operator process, from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple, TypeVar

from managedjobs import __version__
from managedjobs.api.controller_pod import ControllerPodWire, parse_controller_pod
from managedjobs.api.names import CONTROLLER_SELECTOR
from managedjobs.api.nodes import NodeWire, parse_node
from managedjobs.core.phases import ScheduleState
from managedjobs.kube.backoff import Backoff, wait_until
from managedjobs.kube.client import Client
from managedjobs.kube.credentials import Credentials, load_credentials
from managedjobs.kube.errors import CredentialsError, KubeError, NotFound
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.informer import Informer
from managedjobs.kube.resources import NODES, PODS
from managedjobs.scheduler import preflight
from managedjobs.scheduler.apply import Applier
from managedjobs.scheduler.feed import Feed
from managedjobs.scheduler.health import HealthServer
from managedjobs.scheduler.leadership import Leadership
from managedjobs.scheduler.lists import Lists
from managedjobs.scheduler.loop import LONGEST_WAIT, Scheduler
from managedjobs.scheduler.shell import Shell
from managedjobs.scheduler.store import Store
from managedjobs.settings import Settings
from managedjobs.telemetry import metrics

logger = logging.getLogger(__name__)
T = TypeVar("T")
_STANDBY_SECONDS = 3.0
"""Who leads by then needs no warm store first."""
_STUCK_SECONDS = 6 * LONGEST_WAIT


class _Uid(NamedTuple):
    """Tells a uid from a problem's text."""

    value: str


class Operator:
    """One operator process; `run` returns when it was told to stop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = asyncio.Event()
        self._problem = "starting"
        self._store = Store()
        self._scheduler: Scheduler | None = None
        self._lists: Lists | None = None
        self._health = HealthServer(self._how_alive, self._how_ready, self._count)

    async def run(self) -> None:
        """Work until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        await self._health.start(self._settings.health_port, self._settings.metrics_port)
        logger.info("operator starts", extra={"version": __version__, **self._health.ports})
        try:
            credentials = await self._until(self._load_credentials)
            if credentials is not None:
                async with Client(credentials) as client:
                    await self._work(client)
        finally:
            await self._health.close()
        logger.info("operator stopped")

    async def _work(self, client: Client) -> None:
        settings = self._settings
        account = await self._until(lambda: self._check(client))
        if account is None:
            return
        wake = asyncio.Event()
        feed = Feed(asyncio.get_running_loop(), wake.set)
        self._lists = lists = Lists(client, self._store, feed, settings.workload_namespaces)
        pods, nodes = self._informers(client, wake)
        recorder = EventRecorder(client, "managedjobs-operator", settings.pod_name)
        applier = Applier(client, self._store, pods, recorder, settings.controller)
        applier.account_uid = account.value
        self._scheduler = scheduler = Scheduler(client, self._store, feed, applier, wake)
        shell = Shell(feed, settings.workload_namespaces)
        async with AsyncExitStack() as stack:
            for name, work in (("pods", pods.run()), ("nodes", nodes.run()), ("events", recorder.run())):
                stack.push_async_callback(_cancel, asyncio.create_task(work, name=name))
            leadership = Leadership(client, settings, self._store, lists, pods, nodes, applier, scheduler)
            stack.push_async_callback(shell.stop)
            works = {
                "leadership": leadership.run(self._stop),
                "loop": scheduler.run(),
                "watches": self._watch(lists, shell, scheduler),
                "resync": lists.keep(shell, wake, self._stop),
            }
            tasks = {name: asyncio.create_task(work, name=name) for name, work in works.items()}
            for name in ("loop", "watches", "resync"):
                stack.push_async_callback(_cancel, tasks[name])
            await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_COMPLETED)
            self._stop.set()
            await tasks["leadership"]
            await recorder.flush(1.0)
            for task in tasks.values():
                if task.done():
                    task.result()  # raises what ended it

    async def _watch(self, lists: Lists, shell: Shell, scheduler: Scheduler) -> None:
        """Let kopf watch, after the first decision; a standby fills its store first."""
        if not await wait_until(scheduler.has_led, _STANDBY_SECONDS):
            await self._until(lambda: self._first_list(lists))
        await shell.run()
        await self._stop.wait()

    # --- the start

    async def _until(self, attempt: Callable[[], Awaitable[T | str]]) -> T | None:
        """Try until it gives something else than a problem's text; None: we were told to stop.

        A problem is said once, and again only when it is another.
        """
        backoff = Backoff(initial_seconds=0.5, max_seconds=10.0)
        said = ""
        while not self._stop.is_set():
            result = await attempt()
            if not isinstance(result, str):
                if said:
                    logger.info("that is in order now, going on")
                return result
            self._problem = result
            if result != said:
                logger.error("waiting: %s", result)
                said = result
            await wait_until(self._stop, backoff.next_seconds())
        return None

    async def _load_credentials(self) -> Credentials | str:
        try:
            return load_credentials()
        except CredentialsError as error:
            return str(error)

    async def _check(self, client: Client) -> _Uid | str:
        problem = await preflight.find_problem(client, self._settings)
        if problem:
            return problem
        name, namespace = self._settings.controller.service_account, self._settings.namespace
        try:
            return _Uid(await preflight.account_uid(client, self._settings))
        except NotFound:
            return (
                f"the ServiceAccount {name} is not in namespace {namespace}; controller pods run as it and belong to "
                "it: install the chart, or create it"
            )
        except KubeError as error:
            return f"the API server can't be asked: {error}"

    async def _first_list(self, lists: Lists) -> bool | str:
        try:
            await lists.all()
        except KubeError as error:
            return f"the ManagedJobs can't be listed: {error}"
        return True

    def _informers(
        self, client: Client, wake: asyncio.Event
    ) -> tuple[Informer[ControllerPodWire], Informer[NodeWire]]:
        def on_pod(old: ControllerPodWire | None, new: ControllerPodWire | None) -> None:
            before = parse_controller_pod(old) if old is not None else None
            after = parse_controller_pod(new) if new is not None else None
            self._store.change_pod(before, after, client.clock.now())
            wake.set()

        def on_node(old: NodeWire | None, new: NodeWire | None) -> None:
            before = parse_node(old) if old is not None else None
            after = parse_node(new) if new is not None else None
            if self._store.fleet.change_node(before, after):
                self._store.node_changed((new or old).metadata.name, client.clock.now())  # type: ignore[union-attr]  # one is there
            if before != after:
                wake.set()

        pods = Informer(
            client,
            PODS,
            ControllerPodWire,
            namespace=self._settings.namespace,
            label_selector=CONTROLLER_SELECTOR,
            on_change=on_pod,
        )
        return pods, Informer(client, NODES, NodeWire, on_change=on_node)

    # --- how it is

    def _how_ready(self) -> str:
        if self._lists is None or not self._lists.filled.is_set():
            return self._problem
        return self._how_alive()

    def _how_alive(self) -> str:
        if self._scheduler is None:
            return ""  # waiting for something outside is no reason to be started again
        if self._scheduler.seconds_since_pass() > _STUCK_SECONDS:
            return "the scheduling loop is stuck"
        if self._lists is not None and self._lists.stuck:
            return "the watches miss changes though they were started again"
        return ""

    def _count(self) -> None:
        """Bring the gauges up to date."""
        states = Counter(job.status.state for job in self._store.jobs.values())
        for state in ScheduleState:
            metrics.JOBS.labels(state.value).set(states[state])
        for name in self._store.fleet.pools:
            line, limits = self._store.lines.get(name), self._store.fleet.limits(name)
            usage = line.usage() if line is not None else None
            metrics.POOL_WAITING.labels(name).set(line.waiting if line is not None else 0)
            metrics.POOL_USED.labels(name, "launch").set(usage.launch if usage else 0)
            metrics.POOL_USED.labels(name, "run").set(usage.run if usage else 0)
            metrics.POOL_LIMIT.labels(name, "launch").set(limits.launch if limits else 0)
            metrics.POOL_LIMIT.labels(name, "run").set(limits.run if limits else 0)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
