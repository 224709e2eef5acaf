"""The addresses that the kubelet and Prometheus ask: /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from managedjobs.telemetry import metrics

Question = Callable[[], str]
"""Asks how things are: "" is well, anything else says what is wrong."""


class HealthServer:
    """Serves on two ports, 0 for any free one; `ports` has those in use."""

    def __init__(self, alive: Question, ready: Question, before_metrics: Callable[[], None]) -> None:
        self._alive = alive
        self._ready = ready
        self._before_metrics = before_metrics
        self._runners: list[web.AppRunner] = []
        self.ports: dict[str, int] = {}

    async def start(self, health_port: int, metrics_port: int) -> None:
        """Open both ports. Raises OSError when one is taken."""
        health = web.Application()
        health.router.add_get("/healthz", lambda _: _answer(self._alive()))
        health.router.add_get("/readyz", lambda _: _answer(self._ready()))
        figures = web.Application()
        figures.router.add_get("/metrics", self._metrics)
        await self._open("health", health, health_port)
        await self._open("metrics", figures, metrics_port)

    async def close(self) -> None:
        """Close both."""
        for runner in self._runners:
            await runner.cleanup()

    async def _open(self, name: str, app: web.Application, port: int) -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, port=port).start()
        self.ports[name] = runner.addresses[0][1]

    async def _metrics(self, _request: web.Request) -> web.Response:
        self._before_metrics()
        return web.Response(body=metrics.exposition(), headers={"Content-Type": "text/plain; version=0.0.4"})


async def _answer(problem: str) -> web.Response:
    return web.Response(text=f"{problem}\n", status=503) if problem else web.Response(text="ok\n")
