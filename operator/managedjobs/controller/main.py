"""The program `managedjobs controller`: drives one ManagedJob and ends when there is nothing more to do for it."""

from __future__ import annotations

import asyncio
import logging
import random
import signal
import sys

from managedjobs.controller.loop import Loop
from managedjobs.controller.settings import Settings, SettingsError, read_settings
from managedjobs.kube.client import Client
from managedjobs.kube.credentials import load_credentials
from managedjobs.kube.errors import CredentialsError
from managedjobs.kube.events import EventRecorder
from managedjobs.kube.transport import Options
from managedjobs.telemetry.logs import set_up_logs

logger = logging.getLogger(__name__)

FAILED = 1
MISUSED = 2
LAST_EVENTS_SECONDS = 3.0
"""How long the last Events may take to be sent before the program ends."""
_OPTIONS = Options(connections=4)


def run(namespace: str, name: str) -> int:
    """Drive that ManagedJob; returns the exit code: 0 at the end or when told to stop, 1 after a bug, 2 if misused."""
    try:
        settings = read_settings(namespace, name)
        credentials = load_credentials()
    except (SettingsError, CredentialsError) as error:
        sys.stderr.write(f"managedjobs controller: {error}\n")
        return MISUSED
    set_up_logs(settings.log_level, settings.log_format)
    try:
        return asyncio.run(_run(Client(credentials, options=_OPTIONS), settings))
    except Exception:
        # The boundary: whatever escapes is a bug of ours. The exit code counts it, the next process goes on.
        logger.exception("controller failed", extra={"namespace": namespace, "job": name})
        return FAILED


async def _run(client: Client, settings: Settings) -> int:
    """Run until the loop leaves, or a signal comes: then nothing more is written, a successor goes on."""
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    async with client:
        driving = asyncio.create_task(drive(client, settings))
        stopped = asyncio.create_task(told_to_stop.wait())
        await asyncio.wait((driving, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if driving.done():
            return driving.result()
        driving.cancel()
        await asyncio.wait((driving,))
        logger.info("told to stop")
        return 0


async def drive(client: Client, settings: Settings) -> int:
    """Drive the job with that client until there is nothing more to do; returns the exit code."""
    events = EventRecorder(client, "managedjobs-controller", settings.pod_name, queue_length=50)
    loop = Loop(client, settings, events, lambda: random.uniform(-1.0, 1.0))
    async with asyncio.TaskGroup() as group:
        helpers = [group.create_task(watch()) for watch in loop.world.watches()]
        helpers.append(group.create_task(events.run()))
        left = await loop.run()
        logger.info("leaving", extra={"why": left.why})
        await events.flush(LAST_EVENTS_SECONDS)
        for helper in helpers:
            helper.cancel()
    return left.code
