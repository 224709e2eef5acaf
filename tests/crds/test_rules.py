"""The rules that judge an object alone: what keeps them is accepted, what breaks them is told what to write."""

import pytest

from tests.crds.frozen import AFTER, AFTER_START, ALWAYS
from tests.crds.objects import Manifest, fields, source
from tests.crds.rules import JOB_RULES, NAMES, POOL_RULES, Rule
from tests.crds.server import Server

pytestmark = pytest.mark.controlplane

RULES = [*JOB_RULES, *POOL_RULES]


@pytest.fixture(scope="module")
def answers(server: Server) -> dict[str, tuple[str, str]]:
    """What the server says of the accepted and of the refused object of each rule, by its sentence."""
    said = server.refusals([manifest for rule in RULES for manifest in (rule.accepted, rule.refused)])
    return {rule.sentence: (said[2 * n], said[2 * n + 1]) for n, rule in enumerate(RULES)}


@pytest.mark.parametrize("rule", RULES, ids=[rule.sentence for rule in RULES])
def test_an_object_that_keeps_the_rule_is_accepted(answers: dict[str, tuple[str, str]], rule: Rule) -> None:
    assert answers[rule.sentence][0] == ""


@pytest.mark.parametrize("rule", RULES, ids=[rule.sentence for rule in RULES])
def test_an_object_that_breaks_the_rule_is_told_what_to_write(answers: dict[str, tuple[str, str]], rule: Rule) -> None:
    assert rule.says in answers[rule.sentence][1]


@pytest.mark.parametrize("rule", NAMES, ids=[rule.sentence for rule in NAMES])
def test_a_name_is_judged_at_apply(server: Server, rule: Rule) -> None:
    good, bad = server.refusals_by_name([rule.accepted, rule.refused])
    assert good == ""
    assert rule.says in bad


def test_every_rule_in_the_sources_is_tried() -> None:
    told = {rule.says for rule in (*RULES, *NAMES)} | {change.says for change in (*AFTER_START, *ALWAYS)}
    schemas = [source(name) for name in ("managedjob.yaml", "controllerpool.yaml")]
    written = {message for schema in schemas for message in messages(schema)}
    assert written == told


def messages(schema: Manifest) -> list[str]:
    """The messages of all rules in a source; the one that freezes fields has one for each."""
    places = [schema, *(field for _, field in fields(schema))]
    rules = [rule for place in places for rule in place.get("x-kubernetes-validations", [])]
    frozen = [field for rule in rules for field in rule.get("frozenAfterStart", {})]
    return [*(rule["message"] for rule in rules if "message" in rule), *(f"spec.{field} {AFTER}" for field in frozen)]
