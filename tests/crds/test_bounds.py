"""Every bound of a field that people write: the value at it is accepted, the value past it is refused."""

from collections.abc import Callable, Sequence

import pytest

from tests.crds.bounds import JOB_BOUNDS, POOL_BOUNDS, Bound
from tests.crds.objects import Manifest, fields, job, pool, put, source
from tests.crds.server import Server

pytestmark = pytest.mark.controlplane

KEYWORDS = (
    "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "pattern", "enum",
    "minItems", "maxItems", "maxProperties", "required", "x-kubernetes-list-type",
)  # fmt: skip
# A list that is replaced as a whole has nothing to refuse.
FREE = {"x-kubernetes-list-type": "atomic"}

ids = [bound.sentence for bound in JOB_BOUNDS]
pool_ids = [bound.sentence for bound in POOL_BOUNDS]
Answers = dict[int, tuple[str, str]]


def answers_of(server: Server, bounds: Sequence[Bound], build: Callable[[Manifest], Manifest]) -> Answers:
    """What the server says of the value at each bound and of the one past it, by the bound's id()."""
    specs = [put(b.base, b.path.replace("*", "key"), value) for b in bounds for value in (b.at, b.past)]
    said = server.refusals([build(spec) for spec in specs])
    return {id(bound): (said[2 * n], said[2 * n + 1]) for n, bound in enumerate(bounds)}


@pytest.fixture(scope="module")
def job_answers(server: Server) -> Answers:
    return answers_of(server, JOB_BOUNDS, job)


@pytest.fixture(scope="module")
def pool_answers(server: Server) -> Answers:
    return answers_of(server, POOL_BOUNDS, pool)


def field_of(bound: Bound) -> str:
    """How the server names the field of a bound."""
    return "spec." + bound.path.replace("[]", "[0]").replace("*", "key")


@pytest.mark.parametrize("bound", JOB_BOUNDS, ids=ids)
def test_a_job_with_a_value_at_the_bound_is_accepted(job_answers: Answers, bound: Bound) -> None:
    assert job_answers[id(bound)][0] == ""


@pytest.mark.parametrize("bound", JOB_BOUNDS, ids=ids)
def test_a_job_with_a_value_past_the_bound_is_refused_by_the_name_of_the_field(
    job_answers: Answers, bound: Bound
) -> None:
    assert field_of(bound) in job_answers[id(bound)][1]


@pytest.mark.parametrize("bound", POOL_BOUNDS, ids=pool_ids)
def test_a_pool_with_a_value_at_the_bound_is_accepted(pool_answers: Answers, bound: Bound) -> None:
    assert pool_answers[id(bound)][0] == ""


@pytest.mark.parametrize("bound", POOL_BOUNDS, ids=pool_ids)
def test_a_pool_with_a_value_past_the_bound_is_refused_by_the_name_of_the_field(
    pool_answers: Answers, bound: Bound
) -> None:
    assert field_of(bound) in pool_answers[id(bound)][1]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("suspend", "yes", id="a word for a truth value"),
        pytest.param("cancel", 1, id="a number for a truth value"),
        pytest.param("priority", "5", id="a text for a number"),
        pytest.param("priority", 0.5, id="a fraction for a whole number"),
        pytest.param("ttlSecondsAfterFinished", 2**31, id="a number of more than 32 bits"),
        pytest.param("userMetadata", {"epoch": 3}, id="a number for a text"),
        pytest.param("command", "python train.py", id="a text for a list"),
    ],
)
def test_a_value_of_another_type_is_refused(server: Server, path: str, value: object) -> None:
    assert f"spec.{path}" in server.refusal(job(put({"image": "x"}, path, value)))


@pytest.mark.parametrize("build", [job, pool], ids=["a job", "a pool"])
def test_an_object_without_a_spec_is_refused(server: Server, build: Callable[[Manifest], Manifest]) -> None:
    manifest = build({})
    del manifest["spec"]
    assert "spec: Required value" in server.refusal(manifest)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        pytest.param("managedjob.yaml", JOB_BOUNDS, id="of a ManagedJob"),
        pytest.param("controllerpool.yaml", POOL_BOUNDS, id="of a ControllerPool"),
    ],
)
def test_every_bound_in_the_source_is_tried(name: str, bounds: list[Bound]) -> None:
    spec = source(name)["properties"]["spec"]
    found = dict(fields(spec))
    tried = {(bound.path, bound.keyword) for bound in bounds}
    untried = {
        (path, keyword)
        for path, field in found.items()
        for keyword in KEYWORDS
        if keyword in field and field[keyword] != FREE.get(keyword)
        # What a task has in common with a job is one and the same text in the source.
        if found.get(path.removeprefix("tasks[].")) != field or not path.startswith("tasks[].")
    } - tried
    assert untried == set()


def test_every_field_of_the_source_is_described() -> None:
    undescribed = [
        path
        for name in ("managedjob.yaml", "controllerpool.yaml")
        for part in ("spec", "status")
        for path, field in fields(source(name)["properties"][part], part)
        if "description" not in field and not path.endswith(("[]", ".*"))
    ]
    assert undescribed == []
