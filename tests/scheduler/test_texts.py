"""Which texts of waiting jobs are written, and when."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from managedjobs.core.model import Job
from managedjobs.core.scheduling.actions import WriteStatus
from managedjobs.scheduler.store import Store
from managedjobs.scheduler.texts import NUMBERS_AFTER, PLACE_AFTER, Texts
from tests.support.jobs import NOW, make_job, make_pod, make_pool

FULL = make_pool(1, 22)


class Queue:
    """A full pool with so many jobs in line; texts that are due are written at once."""

    def __init__(self, count: int) -> None:
        self.store = Store()
        self.texts = Texts(self.store)
        self.version = 1000
        self.store.put_job(make_job("holder", age=10_000), NOW)
        self.store.change_pod(None, make_pod("p", job="holder"), NOW)
        for number in range(count):
            self.store.put_job(make_job(f"j{number:04}", age=9_000 - number), NOW)
        self.line = self.store.line("default")

    def tell(self, now: datetime, budget: int = 50) -> list[WriteStatus]:
        writes = self.texts.due(FULL, self.line, budget, now)
        for write in writes:
            self.version += 1
            self.store.put_job(make_written(write, self.version), now)
        return writes

    def tell_all(self, now: datetime) -> int:
        count = 0
        while writes := self.tell(now):
            count += len(writes)
        return count


def make_written(write: WriteStatus, version: int) -> Job:
    return replace(write.job, status=write.status, resource_version=str(version))


def uids(writes: list[WriteStatus]) -> list[str]:
    return [write.job.uid for write in writes]


def test_first_texts_go_out_oldest_first_within_the_budget():
    queue = Queue(120)
    assert uids(queue.tell(NOW)) == [f"j{n:04}" for n in range(50)]
    assert uids(queue.tell(NOW)) == [f"j{n:04}" for n in range(50, 100)]
    third = queue.tell(NOW)
    assert uids(third) == [f"j{n:04}" for n in range(100, 120)]
    assert third[-1].status.description.startswith("Waiting: more than 100 ahead in pool default;")
    assert third[-1].status.schedule.position is None


def test_when_every_text_is_right_nothing_is_written_and_nothing_is_looked_at_again():
    queue = Queue(300)
    assert queue.tell_all(NOW) == 300
    for _ in range(5):
        assert queue.tell(NOW) == []
    assert queue.texts.is_settled(queue.line)


def test_a_place_that_moved_is_told_after_a_while_and_a_longer_line_later():
    queue = Queue(3)
    queue.tell_all(NOW)
    queue.store.put_job(make_job("late", age=1), NOW)
    assert uids(queue.tell(NOW)) == ["late"]
    assert queue.tell(NOW + PLACE_AFTER) == []  # only the length of the line is another
    assert not queue.texts.is_settled(queue.line)
    queue.store.remove_job("j0000", NOW)
    moved = queue.tell(NOW + PLACE_AFTER)
    assert uids(moved) == ["j0001", "j0002", "late"]
    assert moved[0].status.description == "Waiting: 1st of 3 in pool default; the only launch slot is in use."
    queue.store.put_job(make_job("later", age=0), NOW)
    queue.tell(NOW + PLACE_AFTER)
    assert uids(queue.tell(NOW + PLACE_AFTER + NUMBERS_AFTER)) == ["j0001", "j0002", "late"]


def test_another_reason_is_told_at_once_also_far_back():
    queue = Queue(400)
    queue.tell_all(NOW)
    paused = make_pool(paused=True)
    queue.texts.pool_changed("default")
    told: set[str] = set()
    soon = NOW + timedelta(seconds=1)
    while writes := queue.texts.due(paused, queue.line, 500, soon):
        for write in writes:
            queue.version += 1
            queue.store.put_job(make_written(write, queue.version), soon)
            told.add(write.job.uid)
    assert len(told) == 400
