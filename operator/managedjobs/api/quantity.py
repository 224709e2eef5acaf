"""Quantities as Kubernetes writes them: `350Mi`, `1500m`, `2`, `12e6`."""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE])?)$")
_UNITS: dict[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{unit: Fraction(10 ** (3 * power)) for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", start=1)},
}
MIB = 1024 * 1024


class MalformedQuantityError(ValueError):
    """A text that is no quantity."""


def parse_quantity(value: str | float) -> Fraction:
    """The exact value; a number is taken as it is. Raises MalformedQuantityError."""
    text = str(value).strip()
    found = _FORM.match(text)
    if found is None:
        raise MalformedQuantityError(f"{text!r} is no quantity; write for example 350Mi, 1500m or 2")
    number, exponent, unit = found.groups()
    return Fraction(number) * (Fraction(f"1{exponent}") if exponent else _UNITS[unit or ""])


def to_bytes(value: str | float) -> int:
    """A quantity of memory (or of pods) in whole units, rounded down."""
    return int(parse_quantity(value))


def to_milli(value: str | float) -> int:
    """A quantity of CPU in thousandths, rounded down."""
    return int(parse_quantity(value) * 1000)


def render_milli(milli: int) -> str:
    """Thousandths of a CPU as `2` or `1500m`."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def render_bytes(count: int) -> str:
    """Bytes as `350Mi` where that is exact, else plain; for what is read back."""
    return f"{count // MIB}Mi" if count and count % MIB == 0 else str(count)
