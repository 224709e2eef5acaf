"""`managedjobs`: the programs of Managed Jobs for Kubernetes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from managedjobs import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the programs; returns its exit code."""
    options = _parser().parse_args(arguments)
    # Imported here: a controller must never pay for what the operator needs.
    if options.program == "operator":
        from managedjobs.scheduler.main import run as run_operator

        return run_operator()
    from managedjobs.controller.main import run as run_controller

    return run_controller(options.namespace, options.name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="managedjobs", description="Managed Jobs for Kubernetes.")
    parser.add_argument("--version", action="version", version=f"managedjobs {__version__}")
    programs = parser.add_subparsers(dest="program", required=True, metavar="PROGRAM")
    programs.add_parser("operator", help="run the operator; its settings are environment variables MANAGEDJOBS_*")
    controller = programs.add_parser("controller", help="run the program of a controller pod: drive one ManagedJob")
    controller.add_argument("--namespace", required=True, help="the namespace of the ManagedJob")
    controller.add_argument("--name", required=True, help="the name of the ManagedJob")
    return parser


if __name__ == "__main__":
    sys.exit(main())
