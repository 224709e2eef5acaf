"""A token bucket: at most so many per second, with bursts."""

from managedjobs.kube.backoff import pause
from managedjobs.kube.clock import Clock


class TokenBucket:
    """Holds up to `burst` tokens and gains `per_second` of them each second; starts full."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(
                f"a token bucket needs a rate above 0 and a burst of 1 or more, not {per_second} and {burst}"
            )
        self._per_second = per_second
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()
        self._clock = clock

    def reserve(self) -> float:
        """Take one token, now or in advance, and say in how many seconds it may be used."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._per_second)

    async def take(self) -> None:
        """Wait for a token; callers are served in the order in which they came."""
        delay = self.reserve()
        if delay > 0:
            await pause(delay)
