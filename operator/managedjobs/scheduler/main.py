"""`managedjobs operator`."""

from __future__ import annotations

import logging

import uvloop

from managedjobs.scheduler.process import Operator
from managedjobs.settings import Settings, SettingsError, read_settings
from managedjobs.telemetry.logs import set_up_logs


async def _operate(settings: Settings) -> None:
    await Operator(settings).run()


def run() -> int:
    """Run the operator until it is told to stop; returns the exit code."""
    try:
        settings = read_settings()
    except SettingsError as error:
        set_up_logs("info", "text")
        for line in str(error).splitlines():
            logging.getLogger(__name__).critical("%s", line)
        return 2
    set_up_logs(settings.log_level, settings.log_format)
    # kopf repeats what our own lines say, with tracebacks.
    logging.getLogger("kopf").setLevel(logging.CRITICAL)
    try:
        uvloop.run(_operate(settings))
    except OSError as error:
        logging.getLogger(__name__).critical("%s", error)
        return 1
    return 0
