"""The result of a measurement, as a row of a table and of build/bench.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure and its budget; `against` says what it is compared with."""

    id: str
    value: float
    unit: str
    budget: float
    against: str

    @property
    def ok(self) -> bool:
        """Whether the figure is within its budget (all of today's are upper bounds)."""
        return self.value <= self.budget


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned columns."""
    head = ("what", "value", "budget", "unit", "", "against")
    body = [
        (row.id, f"{row.value:.1f}", f"≤ {row.budget:g}", row.unit, "ok" if row.ok else "OVER", row.against)
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [head, *body]
    )


def write(rows: Sequence[Row], path: Path) -> None:
    """The rows as JSON: a list of {id, value, unit, budget, against, ok}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) | {"ok": row.ok} for row in rows], indent=2) + "\n")
