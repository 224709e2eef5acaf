"""Who leads: the decision, from a Lease as it was read and the time on this machine alone.

Another machine's clock is never trusted: a holder is taken for dead when its Lease did not change for the Lease's
whole duration, measured here from when the last change was first seen (as client-go does).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseIdentity:
    """Who a process is: its pod, and a random part that is new in each process of that pod."""

    pod: str
    nonce: str

    def __str__(self) -> str:
        """What stands in `holderIdentity`; a pod's name can't contain an underscore."""
        return f"{self.pod}_{self.nonce}"

    def is_older_self(self, holder: str) -> bool:
        """Whether `holder` is an earlier process of the same pod, which must be dead: a pod runs one of us."""
        return holder != str(self) and holder.rpartition("_")[0] == self.pod


@dataclass(frozen=True, slots=True)
class LeaseView:
    """What a Lease says; `holder` is empty when it was let go."""

    holder: str
    transitions: int
    duration_seconds: float


@dataclass(frozen=True, slots=True)
class Acquire:
    """Take the Lease, with `term` as its new leaseTransitions."""

    term: int


@dataclass(frozen=True, slots=True)
class Renew:
    """It is ours: write the time of renewal."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Someone else leads, and may until `seconds` from now."""

    seconds: float


LeaseDecision = Acquire | Renew | Wait


def decide(
    lease: LeaseView | None, me: LeaseIdentity, now_monotonic: float, observed_at: float, last_term: int = 0
) -> LeaseDecision:
    """What to do about the Lease. `observed_at`: when its present content was first seen; both times in seconds.

    `last_term` is the highest term ever seen: a Lease that was deleted starts anew above it.
    """
    if lease is None:
        return Acquire(last_term + 1)
    if lease.holder == str(me):
        return Renew()
    next_term = max(lease.transitions, last_term) + 1
    if not lease.holder or me.is_older_self(lease.holder):
        return Acquire(next_term)
    expires_in = observed_at + lease.duration_seconds - now_monotonic
    return Wait(expires_in) if expires_in > 0 else Acquire(next_term)
