"""What a waiting job says about itself: its place in line and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from managedjobs.core.model import Job, JobStatus
from managedjobs.core.reasons import Reason
from managedjobs.core.scheduling.admission import Hold
from managedjobs.core.scheduling.usage import Want
from managedjobs.core.text import DESCRIPTION_LIMIT, bounded, ordinal, plural

PLACES_SHOWN = 100
"""Further back, a place would be stale before it is read; the text says so instead."""
_GRANT_MARK = " Waiting for a launch slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a job stands in its pool's line."""

    number: int | None
    """From 1; None: further back than PLACES_SHOWN."""
    total: int
    higher: int = 0
    """Jobs of higher priority ahead of it."""


class Words(NamedTuple):
    """What a waiting job says: the fields of its status that the operator keeps up to date."""

    reason: str
    description: str
    position: int | None


def words_of(status: JobStatus) -> Words:
    """What the status says now."""
    return Words(status.reason, status.description, status.schedule.position)


def waiting_words(job: Job, want: Want, place: Place, hold: Hold) -> Words:
    """What the job should say."""
    if want is Want.CLAIM:
        reason, text = hold.reason.value, claim_text(job.spec.pool, place, hold)
    else:
        reason, text = job.status.reason, grant_text(job.status.description, place, hold)
    return Words(reason, bounded(text, DESCRIPTION_LIMIT), place.number)


def with_words(status: JobStatus, words: Words) -> JobStatus:
    """The status with these words."""
    schedule = replace(status.schedule, position=words.position)
    return replace(status, reason=words.reason, description=words.description, schedule=schedule)


def claim_text(pool: str, place: Place, hold: Hold) -> str:
    """The text of a job that waits for its claim, such as `Waiting: 3rd of 9 in pool default; …`."""
    if hold.reason is Reason.POOL_NOT_FOUND:
        return f"Waiting: {hold.text}."
    where = f"{ordinal(place.number)} of {place.total}" if place.number else f"more than {PLACES_SHOWN} ahead"
    ahead = ""
    if place.higher and hold.reason in (Reason.WAITING_FOR_RUN_SLOT, Reason.WAITING_FOR_LAUNCH_SLOT):
        verb = "is" if place.higher == 1 else "are"
        ahead = f", {plural(place.higher, 'job')} of higher priority {verb} ahead"
    return f"Waiting: {where} in pool {pool}; {hold.text}{ahead}."


def grant_text(before: str, place: Place, hold: Hold) -> str:
    """The text of a live job that waits for a launch slot: what the controller said of its cause stays in front."""
    cause = before.split(_GRANT_MARK, 1)[0].rstrip()
    where = f"{ordinal(place.number)} in line" if place.number else f"more than {PLACES_SHOWN} ahead"
    held = "" if hold.reason is Reason.WAITING_FOR_LAUNCH_SLOT else f"; {hold.text}"
    return f"{cause}{_GRANT_MARK}, {where}{held}.".lstrip()
