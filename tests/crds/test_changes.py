"""What may change in a job: before its start, after it, and never."""

from collections.abc import Iterator

import pytest

from tests.crds.frozen import AFTER_START, ALWAYS, NEVER, Change
from tests.crds.objects import SHORT, TEMPLATE, Manifest, job
from tests.crds.server import Server

pytestmark = pytest.mark.controlplane

CHANGES = [*AFTER_START, *ALWAYS, *NEVER]
Answers = dict[str, tuple[str, str]]


STATUSES: dict[str, Manifest] = {
    "waiting": {"schedule": {"state": "Waiting", "position": 3}},
    "started": {"controller": {"podName": "c", "podUID": "1"}},
}


def name(when: str, change: Change) -> str:
    return f"{when}-{CHANGES.index(change)}"


def _status(of: str, when: str) -> Manifest:
    manifest = job({}, of)
    del manifest["spec"]
    return {**manifest, "status": STATUSES[when]}


@pytest.fixture(scope="module")
def answers(server: Server) -> Iterator[Answers]:
    """What the server says of each change to a job that no controller has taken over, and to one that has started."""
    server.store(*(job(change.before, name(when, change)) for when in STATUSES for change in CHANGES))
    server.write_statuses(*(_status(name(when, change), when) for when in STATUSES for change in CHANGES))
    said = [
        server.refusals_by_name([job(change.after, name(when, change)) for change in CHANGES]) for when in STATUSES
    ]
    yield {change.sentence: (said[0][n], said[1][n]) for n, change in enumerate(CHANGES)}
    server.clear()


@pytest.mark.parametrize("change", AFTER_START, ids=[change.sentence for change in AFTER_START])
def test_before_the_start_one_may_change(answers: Answers, change: Change) -> None:
    assert answers[change.sentence][0] == ""


@pytest.mark.parametrize("change", AFTER_START, ids=[change.sentence for change in AFTER_START])
def test_after_the_start_one_can_not_change(answers: Answers, change: Change) -> None:
    assert change.says in answers[change.sentence][1]


@pytest.mark.parametrize("change", ALWAYS, ids=[change.sentence for change in ALWAYS])
def test_at_no_time_one_can_change(answers: Answers, change: Change) -> None:
    assert [change.says in answer for answer in answers[change.sentence]] == [True, True]


@pytest.mark.parametrize("change", NEVER, ids=[change.sentence for change in NEVER])
def test_at_any_time_one_may_change(answers: Answers, change: Change) -> None:
    assert answers[change.sentence] == ("", "")


def test_the_one_who_takes_over_may_name_itself_while_the_spec_stays(server: Server) -> None:
    server.store(job(TEMPLATE, "takeover"))
    said = [server.patch_status("mj", ["takeover"], {"controller": {"podUID": uid}}) for uid in ("1", "2")]
    server.clear()
    assert said == ["", ""]


def test_labels_of_a_started_job_may_change(server: Server) -> None:
    server.store(job(SHORT, "labelled"))
    server.patch_status("mj", ["labelled"], {"controller": {"podUID": "1"}})
    said = server.refusal(job(SHORT, "labelled", labels={"team": "research"}))
    server.clear()
    assert said == ""


def test_a_change_of_two_fields_names_one_of_them(server: Server) -> None:
    server.store(job(SHORT, "named"))
    server.patch_status("mj", ["named"], {"controller": {"podUID": "1"}})
    said = server.refusal(job({"image": "python", "replicas": 2}, "named"))
    server.clear()
    assert "spec: Forbidden: spec.image can't change after the start" in said


def test_a_job_stays_frozen_whatever_its_status_says(server: Server) -> None:
    server.store(job(SHORT, "odd"))
    said = []
    for description in ("Running: attempt 1.", None):
        server.patch_status("mj", ["odd"], {"controller": {"podUID": "1"}, "description": description})
        said.append(server.refusal({**job({"image": "python"}, "odd"), "status": {"description": "Other."}}))
    server.clear()
    assert ["spec.image can't change" in text for text in said] == [True, True]
