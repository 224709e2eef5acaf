"""The operator as a real process, started and ended by tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp

from managedjobs.kube.backoff import pause
from tests.support.waiting import until

OPERATOR = Path(__file__).parents[2] / "operator"
START_SECONDS = 30.0


class OperatorProcess:
    """`python -m managedjobs operator` with its log in a file; a context manager that ends it."""

    def __init__(self, kubeconfig: Path, folder: Path, **settings: str) -> None:
        self._log = folder / f"operator-{len(list(folder.glob('operator-*.log')))}.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MANAGEDJOBS_")}
        given = {f"MANAGEDJOBS_{name}": value for name, value in settings.items()}
        self._environment = {
            **inherited,
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(OPERATOR),
            "MANAGEDJOBS_HEALTH_PORT": "0",
            "MANAGEDJOBS_METRICS_PORT": "0",
            **given,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OperatorProcess:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "managedjobs", "operator"],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process; only inside the context."""
        assert self._process is not None
        return self._process

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = 15.0) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def log(self) -> str:
        """All that it said."""
        return self._log.read_text()

    async def said(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until it says `text`; fails with its log when it does not, or ends."""

        def heard() -> bool:
            if text in self.log():
                return True
            assert self.process.poll() is None, f"the operator ended with {self.process.returncode}:\n{self.log()}"
            return False

        try:
            await until(heard, f"the operator says {text!r}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it said:\n{self.log()}") from None

    async def ask(self, path: str, port: str = "health") -> tuple[int, str]:
        """Status and text of its answer at `path`."""
        await self.said("operator starts")
        found = re.search(rf"\b{port}=(\d+)", self.log())
        assert found is not None
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{found.group(1)}{path}") as response,
        ):
            answer = response.status, await response.text()
        await pause(0)  # for what the loop has still to do about the closed connection
        return answer
