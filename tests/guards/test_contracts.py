"""The import contracts of pyproject.toml hold, and every make target explains itself."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_imports_point_downwards_only():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_make_target_is_explained():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", text, re.MULTILINE))
    explained = set(re.findall(r"^([a-z][a-z0-9-]*):.*## \S", text, re.MULTILINE))
    assert targets - explained == set()
    assert {"help", "demo", "demo-down", "kubeconfig", "test", "test-fast", "e2e", "bench", "check"} <= explained
