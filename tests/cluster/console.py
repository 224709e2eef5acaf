"""What the program says while it works: one line a step, with the time it took; running work shows that it runs."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

HEARTBEAT_SECONDS = 15.0


class ClusterError(Exception):
    """Something that the person at the keyboard can do something about; the text says what."""


def say(text: str) -> None:
    """Prints a line for people; results for programs go to standard output instead."""
    print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people read them: `0.4 s`, `12 s`, `3 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Announces a step, shows every 15 s that it still runs, and says how long it took."""
    start = time.monotonic()
    say(f"  {what} …")
    ended = threading.Event()

    def heartbeat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            say(f"  … {what}: {duration(time.monotonic() - start)} so far")

    threading.Thread(target=heartbeat, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
    say(f"  ✓ {what} ({duration(time.monotonic() - start)})")


def wait_until(condition: Callable[[], bool], what: str, timeout: float, every: float = 0.1) -> None:
    """Returns once the condition holds; ClusterError naming `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not after {duration(timeout)}")
        pause.wait(every)


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    stdin: str | None = None,
) -> str:
    """Runs a command to its end and returns what it printed; ClusterError with the end of its output if it fails.

    With `log`, everything it says goes to that file instead, and nothing is returned.
    """
    words = [str(word) for word in command]
    handle = log.open("ab") if log else None
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=env,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=handle or subprocess.PIPE,
            stderr=subprocess.STDOUT if handle else subprocess.PIPE,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise ClusterError(f"{words[0]} is not installed (try: python3 -m tests.cluster packages)") from error
    finally:
        if handle:
            handle.close()
    if done.returncode:
        said = log.read_text(errors="replace") if log else (done.stderr or done.stdout)
        where = f"; all of it in {log}" if log else ""
        raise ClusterError(f"`{' '.join(words)}` ended with {done.returncode}{where}:\n{_tail(said)}")
    return done.stdout or ""


def succeeds(command: Sequence[str | Path], env: Mapping[str, str] | None = None, timeout: float = 60) -> bool:
    """Whether a command can be run and ends with 0 in time."""
    try:
        return (
            subprocess.run(
                [str(word) for word in command], env=env, capture_output=True, timeout=timeout, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-lines:])
