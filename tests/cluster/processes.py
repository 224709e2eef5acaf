"""Processes that we started: knowing them again, and ending them for certain.

A process is its id and its start time, so that an id that the kernel gave to somebody else is never killed.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.console import ClusterError


@dataclass(frozen=True)
class Process:
    """A process of this machine; `started` is in clock ticks since boot, as in /proc/PID/stat."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """The process that has this id now; None when there is none, or only its remains (a zombie)."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()  # the command's name may hold anything, so count from behind it
        return None if fields[0] == "Z" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Process.of(self.pid) == self


def me() -> Process:
    """The process that runs this code."""
    process = Process.of(os.getpid())
    assert process is not None
    return process


def start(command: Sequence[str | Path], log: Path, *, bound: bool, env: Mapping[str, str] | None = None) -> Process:
    """Starts a program in the background, its output in `log`.

    `bound`: the kernel kills it when the thread that called this ends, however it ends. Otherwise it runs on alone.
    """
    words = [str(word) for word in command]
    if bound:
        words = ["setpriv", "--pdeathsig", "KILL", "--", *words]
    with log.open("ab") as output:
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=env,
            )
        except FileNotFoundError as error:
            raise ClusterError(f"{words[0]} is not installed (try: python3 -m tests.cluster packages)") from error
    _children[child.pid] = child
    process = Process.of(child.pid)
    if process is None:
        raise ClusterError(f"{words[0]} ended at once:\n{log.read_text(errors='replace')[-2000:]}")
    return process


def stop(processes: Iterable[Process], grace: float = 0.0) -> None:
    """Ends processes and returns when they are gone: asked first if `grace` (seconds) allows, then killed."""
    remaining = [process for process in processes if process.alive]
    if grace > 0:
        _signal(remaining, signal.SIGTERM)
        deadline = time.monotonic() + grace
        remaining = [process for process in remaining if not _gone(process, deadline - time.monotonic())]
    _signal(remaining, signal.SIGKILL)
    for process in remaining:
        if not _gone(process, 10.0):
            raise ClusterError(f"process {process.pid} does not end, not even killed")


def of_programs(programs: Sequence[str], text: str) -> list[Process]:
    """Processes that run one of these programs (by name) with this text somewhere in their command line."""
    return _matching("cmdline", lambda line: text in line and line.split(" ")[0].rpartition("/")[2] in programs)


def in_control_groups(names: Sequence[str]) -> list[Process]:
    """Processes in a control group whose path holds one of these texts, such as the id of a container."""
    return _matching("cgroup", lambda paths: any(name in paths for name in names))


def _matching(file: str, fits: Callable[[str], bool]) -> list[Process]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it may end while we look
            text = (folder / file).read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if fits(text) and (process := Process.of(int(folder.name))):
                found.append(process)
    return found


_children: dict[int, "subprocess.Popen[bytes]"] = {}
"""Our own children, to be waited for when they end: without that they would stay as zombies."""


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        if process.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _gone(process: Process, timeout: float) -> bool:
    """Waits for the end of a process, ours or not, by the kernel's own notice."""
    if child := _children.get(process.pid):
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(max(timeout, 0))
            del _children[process.pid]
        return not process.alive
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        select.select([handle], [], [], max(timeout, 0))
        return not process.alive
    finally:
        os.close(handle)
