"""`operator/` is a source root: a package there would shadow the standard library's `operator`."""

import operator
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_source_root_holds_no_python_file_of_its_own():
    assert sorted(path.name for path in (ROOT / "operator").glob("*.py")) == []


def test_the_source_root_holds_exactly_one_package():
    packages = [path.parent.name for path in (ROOT / "operator").glob("*/__init__.py")]
    assert packages == ["managedjobs"]


def test_operator_is_still_the_standard_librarys():
    assert operator.__file__ is not None
    assert Path(operator.__file__).parent == Path(sysconfig.get_paths()["stdlib"])


def test_an_interpreter_started_in_the_root_still_starts():
    done = subprocess.run(
        [sys.executable, "-c", "import collections, json, operator; print(operator.add(1, 2))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr
