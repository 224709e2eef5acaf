"""Writes the table of reasons into RUNBOOK.md: `python -m tests.guards.reasons_table`."""

from pathlib import Path

from managedjobs.core.reasons import MEANING

RUNBOOK = Path(__file__).resolve().parents[2] / "RUNBOOK.md"
MARK = "<!-- reasons -->\n"


def with_table(text: str) -> str:
    """The runbook's text with the present table under its mark, which is the last thing in it."""
    head, mark, _ = text.partition(MARK)
    assert mark, f"no {MARK!r} in the runbook"
    rows = "".join(f"| `{reason.value}` | {sentence} |\n" for reason, sentence in MEANING.items())
    return f"{head}{MARK}\n| reason | meaning |\n|---|---|\n{rows}"


if __name__ == "__main__":
    RUNBOOK.write_text(with_table(RUNBOOK.read_text()))
