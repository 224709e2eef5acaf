"""`make bench`: measures, prints a table and writes build/bench.json; ends with 1 when a budget is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench import controller_memory
from tests.bench.rows import table, write
from tests.cluster import programs
from tests.cluster.cache import Cache
from tests.e2e.conftest import Helm
from tests.support.cluster_fixtures import Kubectl

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Measure everything; the exit code says whether all budgets hold."""
    for verb in (["kind", "up", "--workers", "2"], ["image"], ["load-image"]):
        subprocess.run([sys.executable, "-m", "tests.cluster", *verb], cwd=ROOT, check=True)
    shown = subprocess.run(
        [sys.executable, "-m", "tests.cluster", "kubeconfig"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    kubeconfig = Path(shown.stdout.strip())
    Helm(kubeconfig).install()
    rows = controller_memory.measure(Kubectl(kubeconfig), str(programs.path_of("kubectl", Cache.default())))
    print(table(rows), flush=True)
    write(rows, ROOT / "build" / "bench.json")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
