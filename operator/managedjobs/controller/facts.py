"""Small reads beside the watches, made only when something looks wrong: Events, nodes, the end of a log."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.api.child_parse import newest_failed_create, parse_node
from managedjobs.api.child_wire import EventWire, NodeWire
from managedjobs.controller.refusals import refusal_of_event
from managedjobs.core.attempts import current_attempt
from managedjobs.core.driving.observe import events_due, nodes_to_ask
from managedjobs.core.driving.situation import NODE_RECHECK, earliest
from managedjobs.core.driving.steps import ReadLastLine
from managedjobs.core.driving.view import Node, Refusal, View
from managedjobs.kube.client import Client
from managedjobs.kube.errors import ApiError, Forbidden, NotFound
from managedjobs.kube.resources import EVENTS, NODES

logger = logging.getLogger(__name__)

EVENTS_EVERY = timedelta(seconds=5)
TEXTS_EVERY = timedelta(seconds=5)
_LOG_LINES = 20
"""Lines of a log that are read to find the last one that is not empty."""


class Facts:
    """What was read, and when it is worth reading again."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._refusal: Refusal | None = None
        self._nodes: dict[str, Node] = {}
        self._nodes_asked: dict[str, datetime] = {}
        self._nodes_allowed = True
        self._events_read: datetime | None = None
        self._last_lines: dict[tuple[str, str], str] = {}
        self._texts_after: datetime | None = None

    def complete(self, view: View, jitter: float) -> View:
        """The view with what is known beside the watches."""
        return replace(
            view,
            nodes=dict(self._nodes),
            refusal=self._refusal,
            last_lines=dict(self._last_lines),
            texts_after=self._texts_after,
            jitter=jitter,
        )

    async def gather(self, view: View, now: datetime) -> datetime | None:
        """Make the reads that are due; returns when the next is. Raises KubeError, and then knows what it knew."""
        return earliest(await self._ask_nodes(view, now), await self._read_events(view, now))

    def refused(self, refusal: Refusal | None) -> None:
        """Keep what the API server last answered to a create; None: it took it."""
        self._refusal = refusal

    def wrote_text(self, now: datetime) -> None:
        """Words were written: the next ones wait a little."""
        self._texts_after = now + TEXTS_EVERY

    async def read_last_line(self, step: ReadLastLine) -> None:
        """Read the end of a log; a refusal is as good as an empty log, an unreachable server is not."""
        try:
            lines = await self._client.logs_tail(self._namespace, step.pod, step.container, _LOG_LINES)
        except ApiError as error:
            logger.info("log not read", extra={"pod": step.pod, "error": str(error)})
            lines = []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self._last_lines = {(step.pod_uid, step.container): last}

    async def _ask_nodes(self, view: View, now: datetime) -> datetime | None:
        suspects = nodes_to_ask(view, now) if self._nodes_allowed else frozenset()
        for gone in self._nodes.keys() - suspects:
            del self._nodes[gone]
        for name in suspects:
            asked = self._nodes_asked.get(name)
            if asked is None or now - asked >= NODE_RECHECK:
                await self._ask_node(name)
                self._nodes_asked[name] = now
        return earliest(*(self._nodes_asked[name] + NODE_RECHECK for name in suspects if name in self._nodes_asked))

    async def _ask_node(self, name: str) -> None:
        try:
            self._nodes[name] = parse_node(await self._client.get(NODES, None, name, NodeWire))
        except NotFound:
            self._nodes[name] = Node(name=name, exists=False)
        except Forbidden as error:
            logger.warning("nodes can't be read, so lost ones are not noticed here", extra={"error": str(error)})
            self._nodes_allowed = False
        except ApiError as error:
            logger.warning("node not read", extra={"node": name, "error": str(error)})

    async def _read_events(self, view: View, now: datetime) -> datetime | None:
        due = events_due(view)
        if due is None or view.child is None or view.job is None:
            return None
        due = max(due, self._events_read + EVENTS_EVERY) if self._events_read else due
        if now < due:
            return due
        self._events_read = now
        selector = f"regarding.uid={view.child.uid},reason=FailedCreate"
        try:
            listing = await self._client.list(EVENTS, self._namespace, EventWire, field_selector=selector)
        except ApiError as error:
            logger.warning("events not read", extra={"error": str(error)})
            return now + EVENTS_EVERY
        message = newest_failed_create(listing.items)
        number = current_attempt(view.job.status).number
        self._refusal = refusal_of_event(message, number) if message else None
        return now + EVENTS_EVERY
