"""Following ManagedJobs of a namespace through `kubectl get --watch`, as a person at a terminal would."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

ManagedJob = dict[str, Any]
FINISHED = ("Succeeded", "Failed", "Cancelled")


class JobWatch:
    """The latest state of every ManagedJob of one namespace, and all states that were seen on the way.

    A context manager; `until` blocks on the watch, not on a clock. `on_change` is called with every new state.
    """

    def __init__(
        self,
        kubectl: Path | str,
        kubeconfig: Path | str,
        namespace: str,
        *,
        on_change: Callable[[ManagedJob], None] | None = None,
    ) -> None:
        self._command = [
            str(kubectl), f"--kubeconfig={kubeconfig}", "get", "managedjobs", f"--namespace={namespace}",
            "--output=json", "--watch", "--output-watch-events",
        ]  # fmt: skip
        self._on_change = on_change
        self._changed = threading.Condition()
        self._stopping = False
        self._process: subprocess.Popen[str] | None = None
        self.jobs: dict[str, ManagedJob] = {}
        self.history: list[ManagedJob] = []

    def __enter__(self) -> JobWatch:
        self._thread = threading.Thread(target=self._follow, name="jobwatch", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        if self._process is not None:
            self._process.terminate()
        self._thread.join(timeout=10)

    def until(self, what: str, holds: Callable[[dict[str, ManagedJob]], bool], *, seconds: float) -> None:
        """Wait until `holds` is true of the jobs by name. Raises AssertionError with the jobs' state otherwise."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not holds(self.jobs):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"not within {seconds:.0f} s: {what}\n{self.table()}")
                self._changed.wait(left)

    def until_phase(self, name: str, *phases: str, seconds: float = 90) -> ManagedJob:
        """Wait until the job is in one of the phases; gives it as it is then."""
        self.until(
            f"{name} is {' or '.join(phases)}", lambda jobs: phase_of(jobs.get(name)) in phases, seconds=seconds
        )
        return self.jobs[name]

    def seen(self, name: str) -> list[ManagedJob]:
        """All states of that job that were seen, oldest first."""
        with self._changed:
            return [job for job in self.history if job["metadata"]["name"] == name]

    def table(self) -> str:
        """One line a job."""
        return "\n".join(
            f"  {name:24} {phase_of(job):12} {job.get('status', {}).get('description', '')}"
            for name, job in sorted(self.jobs.items())
        )

    def _follow(self) -> None:
        while not self._stopping:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            with self._process as process:
                assert process.stdout is not None
                for line in process.stdout:  # one event a line
                    self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        job = event["object"]
        if job.get("kind") != "ManagedJob":
            return
        name = job["metadata"]["name"]
        with self._changed:
            if event["type"] == "DELETED":
                self.jobs.pop(name, None)
            elif self.jobs.get(name) != job:
                self.jobs[name] = job
                self.history.append(job)
            self._changed.notify_all()
        if self._on_change is not None and event["type"] != "DELETED":
            self._on_change(job)


def phase_of(job: ManagedJob | None) -> str:
    """The phase, or an empty string for a job that is not there."""
    return str((job or {}).get("status", {}).get("phase", ""))


def state_of(job: ManagedJob) -> str:
    """Where the job stands with the scheduler."""
    return str(job.get("status", {}).get("schedule", {}).get("state", "Waiting"))
