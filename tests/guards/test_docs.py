"""What people are told is what the code has."""

import re
from pathlib import Path

import pytest

from managedjobs.core.phases import Phase
from tests.guards.reasons_table import RUNBOOK, with_table

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_reasons_is_fresh():
    assert with_table(RUNBOOK.read_text()) == RUNBOOK.read_text(), "run `make generate`"


@pytest.mark.parametrize("phase", list(Phase))
def test_the_readme_names_every_phase(phase: Phase):
    assert f"`{phase.value}`" in (ROOT / "README.md").read_text()


def test_links_between_the_documents_lead_somewhere():
    broken = [
        f"{path.name}: {target}"
        for path in ROOT.glob("*.md")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
        if not (ROOT / target).exists()
    ]
    assert broken == []


def test_make_targets_that_the_documents_name_exist():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for path in ROOT.glob("*.md")
        for target in re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", path.read_text(), re.MULTILINE)
    }
    assert named - targets == set()
