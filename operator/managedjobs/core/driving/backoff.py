"""How long to wait before the next attempt."""

from __future__ import annotations

from datetime import timedelta

from managedjobs.core.model import Backoff

_MANY = 64
"""Past so many tries in a row any backoff has reached its maximum."""


def backoff_delay(policy: Backoff, in_a_row: int, jitter: float) -> timedelta:
    """The wait after the `in_a_row`-th ending without success (1 is the first).

    `initial` times `factor`^(in_a_row - 1), at most `maximum`, spread by ± `jitter_percent`; `jitter` is a number
    between -1 and 1 that says where in that spread. With the defaults: 60 s, 96 s, 154 s, 246 s, 300 s, each ± 40 %.
    """
    if in_a_row < 1:
        raise ValueError(f"a backoff follows the first ending or a later one, not number {in_a_row}")
    factor = (policy.factor_percent / 100) ** min(in_a_row - 1, _MANY)
    seconds = min(policy.initial.total_seconds() * factor, policy.maximum.total_seconds())
    spread = 1 + max(-1.0, min(1.0, jitter)) * policy.jitter_percent / 100
    return timedelta(seconds=seconds * spread)
