"""The status: what a new job reads like, what the columns show, and what may be written."""

from collections.abc import Iterator

import pytest

from tests.crds.objects import SHORT, TASKS, TEMPLATE, Manifest, fields, job, pool, put, source
from tests.crds.server import Server
from tests.crds.statuses import JOB_STATUS, JOB_TEXTS, LISTS, POOL_STATUS, POOL_TEXTS

pytestmark = pytest.mark.controlplane

DRY = "--dry-run=server"
NEW = {
    "phase": "Pending",
    "reason": "Queued",
    "description": "Queued: the operator has not looked at this job yet.",
    "schedule": {"state": "Waiting"},
}


@pytest.fixture
def train(server: Server) -> Iterator[str]:
    """The name of a stored job."""
    server.store(job(TEMPLATE, "train"))
    yield "train"
    server.clear()


@pytest.fixture
def gpus(server: Server) -> Iterator[str]:
    """The name of a stored pool."""
    server.store(pool({}, "gpus"))
    yield "gpus"
    server.kubectl("delete", "controllerpool", "gpus")


@pytest.mark.parametrize("spec", [SHORT, TEMPLATE, TASKS], ids=["short form", "template", "tasks"])
def test_a_job_nobody_has_looked_at_reads_as_queued(server: Server, spec: Manifest) -> None:
    server.store(job(spec, "new"))
    found = server.get("mj", "new")
    server.clear()
    assert found["status"] == NEW


def test_a_status_that_comes_with_a_new_job_is_dropped(server: Server) -> None:
    server.store({**job(SHORT, "cheat"), "status": {"phase": "Succeeded", "exitCode": 0}})
    found = server.get("mj", "cheat")
    server.clear()
    assert found["status"] == NEW


def test_a_status_that_comes_with_a_later_apply_is_dropped(server: Server, train: str) -> None:
    server.store({**job(TEMPLATE, train), "status": {"phase": "Succeeded"}})
    assert server.get("mj", train)["status"] == NEW


def test_every_field_of_a_job_status_is_kept(server: Server, train: str) -> None:
    assert server.patch_status("mj", [train], JOB_STATUS) == ""
    assert server.get("mj", train)["status"] == JOB_STATUS


def test_every_field_of_a_pool_status_is_kept(server: Server, gpus: str) -> None:
    assert server.patch_status("cpool", [gpus], POOL_STATUS) == ""
    assert server.get("cpool", gpus)["status"] == POOL_STATUS


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("managedjob.yaml", JOB_STATUS, id="a job"),
        pytest.param("controllerpool.yaml", POOL_STATUS, id="a pool"),
    ],
)
def test_the_example_has_every_field_of_the_source(name: str, status: Manifest) -> None:
    def paths(node: object, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            for key, value in node.items():
                yield f"{path}.{key}".removeprefix(".")
                yield from paths(value, f"{path}.{key}".removeprefix("."))
        if isinstance(node, list):
            for item in node:
                yield f"{path}[]"
                yield from paths(item, f"{path}[]")

    assert set(paths(status, "")) == {path for path, _ in fields(source(name)["properties"]["status"])}


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        pytest.param("managedjob.yaml", JOB_TEXTS, id="a job"),
        pytest.param("controllerpool.yaml", POOL_TEXTS, id="a pool"),
    ],
)
def test_every_text_in_the_source_has_its_bound_tried(name: str, texts: dict[str, int]) -> None:
    found = fields(source(name)["properties"]["status"])
    assert {path: field["maxLength"] for path, field in found if "maxLength" in field} == texts


def test_texts_of_a_job_status_are_bounded(server: Server, train: str) -> None:
    assert server.patch_status("mj", [train], _texts(JOB_STATUS, JOB_TEXTS, 0), DRY) == ""
    said = server.patch_status("mj", [train], _texts(JOB_STATUS, JOB_TEXTS, 1), DRY)
    assert [path for path in JOB_TEXTS if f"status.{path.replace('[]', '[0]')}: Too long" not in said] == []


def test_texts_of_a_pool_status_are_bounded(server: Server, gpus: str) -> None:
    assert server.patch_status("cpool", [gpus], _texts(POOL_STATUS, POOL_TEXTS, 0), DRY) == ""
    said = server.patch_status("cpool", [gpus], _texts(POOL_STATUS, POOL_TEXTS, 1), DRY)
    assert [path for path in POOL_TEXTS if f"status.{path.replace('[]', '[0]')}: Too long" not in said] == []


def _texts(status: Manifest, bounds: dict[str, int], more: int) -> Manifest:
    """The status with every text as long as its bound allows, and `more` characters."""
    for path, length in bounds.items():
        status = put(status, path, "x" * (length + more))
    return status


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_a_status_are_bounded(server: Server, train: str, name: str) -> None:
    most, item = LISTS[name]
    assert server.patch_status("mj", [train], {name: [item(n) for n in range(most)]}, DRY) == ""
    said = server.patch_status("mj", [train], {name: [item(n) for n in range(most + 1)]}, DRY)
    assert f"status.{name}: Too many" in said


def test_conditions_of_a_pool_are_bounded(server: Server, gpus: str) -> None:
    most, item = LISTS["conditions"]
    assert server.patch_status("cpool", [gpus], {"conditions": [item(n) for n in range(most)]}, DRY) == ""
    said = server.patch_status("cpool", [gpus], {"conditions": [item(n) for n in range(most + 1)]}, DRY)
    assert "status.conditions: Too many" in said


@pytest.mark.parametrize("name", LISTS)
def test_items_of_a_status_are_told_apart_by_their_key(server: Server, train: str, name: str) -> None:
    _, item = LISTS[name]
    said = server.patch_status("mj", [train], {name: [item(1), item(1)]}, DRY)
    assert f"status.{name}[1]: Duplicate value" in said


@pytest.mark.parametrize("name", LISTS)
def test_items_of_a_status_have_their_key(server: Server, train: str, name: str) -> None:
    said = server.patch_status("mj", [train], {name: [{}]}, DRY)
    assert f"status.{name}[0]." in said
    assert "Required value" in said


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"phase": "Migrating"}, id="a phase"),
        pytest.param({"schedule": {"state": "AliveMigrating"}}, id="a state"),
        pytest.param({"conditions": [{"type": "example.com/Checked", "status": "Later"}]}, id="a condition"),
    ],
)
def test_a_word_of_a_newer_version_is_taken(server: Server, train: str, status: Manifest) -> None:
    assert server.patch_status("mj", [train], status, DRY) == ""


def test_a_time_is_one(server: Server, train: str) -> None:
    times = [path for path, field in fields(source("managedjob.yaml")["properties"]["status"]) if _is_time(field)]
    status = JOB_STATUS
    for path in times:
        status = put(status, path, "yesterday")
    said = server.patch_status("mj", [train], status, DRY)
    assert [path for path in times if f"status.{path.replace('[]', '[0]')}: Invalid value" not in said] == []


def _is_time(field: Manifest) -> bool:
    return field.get("format") == "date-time"


def test_the_columns_of_jobs_say_where_and_why(server: Server, train: str) -> None:
    server.patch_status("mj", [train], JOB_STATUS)
    heads, row = _table(server, "mj")
    assert heads == ["NAME", "PHASE", "REASON", "POSITION", "ATTEMPTS", "AGE"]
    assert row[:5] == ["train", "Recovering", "Preempted", "1", "3"]


def test_the_wide_columns_of_jobs_say_the_rest(server: Server, train: str) -> None:
    server.patch_status("mj", [train], JOB_STATUS)
    heads, row = _table(server, "mj", "-o", "wide")
    assert heads[6:] == ["PRIORITY", "POOL", "NEXT", "EXIT", "DESCRIPTION"]
    assert row[6:10] == ["0", "default", "2030-01-02T03:04:05Z", "0"]
    assert " ".join(row[10:]) == JOB_STATUS["description"]


def test_the_columns_of_pools_say_what_is_in_use(server: Server, gpus: str) -> None:
    server.patch_status("cpool", [gpus], POOL_STATUS)
    heads, row = _table(server, f"cpool/{gpus}")
    assert heads == ["NAME", "NODES", "LAUNCH", "LAUNCHING", "RUN", "ALIVE", "PARKED", "WAITING", "READY", "AGE"]
    assert row[1:9] == ["3", "48", "4", "132", "20", "2", "9", "True"]


def _table(server: Server, what: str, *flags: str) -> tuple[list[str], list[str]]:
    """The heads and the one row that `kubectl get` prints."""
    head, row = server.kubectl("get", what, "-n", server.namespace, *flags).stdout.splitlines()
    return head.split(), row.split()


def test_get_all_stays_quiet(server: Server, train: str) -> None:
    assert train not in server.kubectl("get", "all", "-n", server.namespace).stdout
