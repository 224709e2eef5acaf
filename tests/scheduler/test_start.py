"""What the operator says, and does not do, while something it needs is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from managedjobs.api.names import CONTROLLER_POOLS_CRD, MANAGED_JOBS_CRD, SCHEMA_ANNOTATION
from managedjobs.kube.client import Client
from managedjobs.kube.resources import CRDS
from tests.scheduler.conftest import Site
from tests.scheduler.operator_process import OperatorProcess
from tests.support.fake_api import FakeApi


def kubeconfig(folder: Path, server: str, **user: str) -> Path:
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(content))
    return path


def crd(name: str, schema: str) -> dict[str, object]:
    return {"metadata": {"name": name, "annotations": {SCHEMA_ANNOTATION: schema}}}


async def test_a_missing_crd_and_then_an_old_one_are_one_line_each(tmp_path: Path):
    async with FakeApi() as api, Client(api.credentials()) as client:
        with OperatorProcess(kubeconfig(tmp_path, api.credentials().server), tmp_path) as operator:
            await operator.said("is not installed; install the chart")
            assert (await operator.ask("/readyz"))[0] == 503
            assert (await operator.ask("/healthz"))[0] == 200
            for name, schema in ((MANAGED_JOBS_CRD, "0"), (CONTROLLER_POOLS_CRD, "1")):
                await client.create(CRDS, None, crd(name, schema), dict)
            await operator.said("is too old")
            assert operator.stop() == 0
            waiting = [line for line in operator.log().splitlines() if "waiting:" in line]
        assert len(waiting) == 2
        assert "Traceback" not in operator.log()
        written = [seen.path for seen in api.seen if seen.method != "GET"]
        assert written == [CRDS.path(None)] * 2  # by this test


async def test_a_server_that_can_not_be_reached_is_one_line_and_the_operator_ends_when_told(tmp_path: Path):
    with OperatorProcess(kubeconfig(tmp_path, "http://127.0.0.1:9"), tmp_path) as operator:
        await operator.said("the API server can't be asked")
        status, text = await operator.ask("/readyz")
        assert (status, "can't be asked" in text) == (503, True)
        assert operator.stop() == 0
        assert operator.log().count("can't be asked") == 1
        assert "Traceback" not in operator.log()


async def test_a_missing_kubeconfig_is_one_line(tmp_path: Path):
    with OperatorProcess(tmp_path / "nowhere", tmp_path) as operator:
        await operator.said("waiting: ")
        assert operator.stop() == 0
        assert str(tmp_path / "nowhere") in operator.log()
        assert "Traceback" not in operator.log()


async def test_settings_that_can_not_be_used_end_it_with_one_line_each(tmp_path: Path):
    with OperatorProcess(tmp_path, tmp_path, KEEP_JOBS="perhaps", METRICS_PORT="high") as operator:
        assert operator.process.wait(30) == 2
        assert [line.partition("=")[0].split()[-1] for line in operator.log().splitlines()] == [
            "MANAGEDJOBS_KEEP_JOBS",
            "MANAGEDJOBS_METRICS_PORT",
        ]


async def test_a_port_that_is_taken_ends_it_with_one_line(tmp_path: Path):
    async with FakeApi() as api:
        port = api.credentials().server.rpartition(":")[2]
        with OperatorProcess(tmp_path, tmp_path, HEALTH_PORT=port) as operator:
            assert operator.process.wait(30) == 1
            assert "address already in use" in operator.log()
            assert "Traceback" not in operator.log()


@pytest.mark.controlplane
async def test_a_missing_service_account_is_one_line(site: Site):
    with site.operator(CONTROLLER_SERVICE_ACCOUNT="nobody") as operator:
        await operator.said(f"the ServiceAccount nobody is not in namespace {site.namespace}")
        assert operator.stop() == 0


@pytest.mark.controlplane
async def test_the_default_pool_is_made_from_the_settings_when_there_is_none(site: Site):
    spec = json.dumps({"capacity": {"cpu": "2", "memory": "7700Mi"}})
    with site.operator(DEFAULT_POOL=spec) as operator:
        await operator.said("deciding")
        assert operator.stop() == 0
    site.pools.append("default")
    pools = {pool["metadata"]["name"]: pool for pool in await site.list_pools()}
    assert pools["default"]["spec"]["capacity"] == {"cpu": "2", "memory": "7700Mi"}


@pytest.mark.controlplane
async def test_the_second_operator_waits_for_the_first_and_then_decides_at_once(site: Site):
    with site.operator(POD_NAME="first") as first:
        await first.said("deciding")
        with site.operator(POD_NAME="second") as second:
            await second.said("operator starts")
            assert first.stop() == 0
            await second.said("deciding", seconds=20)
            assert "term=2" in second.log()
            assert second.stop() == 0
