"""Logging in: tokens that change, kubeconfigs that are wrong."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.credentials import TokenFile, in_cluster_credentials, load_credentials
from managedjobs.kube.errors import CredentialsError, Unauthorized
from tests.cluster import certificates
from tests.kube.conftest import QUICK
from tests.kube.shapes import CONFIG_MAPS
from tests.support.fake_api import FakeApi
from tests.support.hand_clock import HandClock


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The certificate of an authority."""
    folder = tmp_path_factory.mktemp("pki")
    certificates.make(folder)
    return (folder / "ca.crt").read_bytes()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with the token `first`."""
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


def replace(path: Path, token: str) -> None:
    """Write a token, at another time than the last one."""
    path.write_text(token)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000))


def test_a_token_is_read_again_after_a_minute(token_file: Path) -> None:
    clock = HandClock()
    source = TokenFile(token_file, clock)
    replace(token_file, "second")
    clock.seconds += 59
    assert source.headers() == {"Authorization": "Bearer first"}
    clock.seconds += 2
    assert source.headers() == {"Authorization": "Bearer second"}


def test_a_token_file_that_is_away_for_a_moment_is_no_accident(token_file: Path) -> None:
    clock = HandClock()
    source = TokenFile(token_file, clock)
    token_file.unlink()
    clock.seconds += 61
    assert source.headers() == {"Authorization": "Bearer first"}


async def test_a_401_reads_the_token_again_and_repeats_the_request(api: FakeApi, token_file: Path) -> None:
    api.token = "second"
    credentials = api.credentials(TokenFile(token_file))
    replace(token_file, "second")
    async with Client(credentials, options=QUICK) as client:
        await client.create(CONFIG_MAPS, "a", {"metadata": {"name": "x"}}, dict)
    assert [seen.headers["Authorization"] for seen in api.seen] == ["Bearer first", "Bearer second"]


async def test_a_token_that_stays_wrong_is_told(api: FakeApi, token_file: Path) -> None:
    api.token = "another"
    async with Client(api.credentials(TokenFile(token_file)), options=QUICK) as client:
        with pytest.raises(Unauthorized, match="HTTP 401"):
            await client.get(CONFIG_MAPS, "a", "x", dict)
    assert api.count("GET") == 2


def kubeconfig(**cluster: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a kubeconfig
    """A kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def test_a_kubeconfig_gives_server_and_token(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(kubeconfig(server="http://127.0.0.1:1/prefix/")))
    credentials = load_credentials({"KUBECONFIG": str(path)})
    assert credentials.server == "http://127.0.0.1:1/prefix"
    assert credentials.headers() == {"Authorization": "Bearer t"}


async def test_the_token_of_a_kubeconfig_is_read_again_after_a_401(api: FakeApi, tmp_path: Path) -> None:
    path = tmp_path / "config"
    content = kubeconfig(server=api.credentials().server)
    path.write_text(json.dumps(content))
    credentials = load_credentials({"KUBECONFIG": str(path)})
    content["users"][0]["user"]["token"] = api.token = "newer"
    path.write_text(json.dumps(content))
    async with Client(credentials, options=QUICK) as client:
        await client.list(CONFIG_MAPS, "a", dict)
    assert api.count("GET") == 2


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(None, "config", id="no such file"),
        pytest.param("{", "config", id="no yaml"),
        pytest.param("{}", "config", id="empty"),
        pytest.param(json.dumps(kubeconfig()), "names no server", id="no server"),
        pytest.param(
            json.dumps(kubeconfig(**{"server": "https://h", "insecure-skip-tls-verify": True})),
            "give certificate-authority instead",
            id="verification switched off",
        ),
        pytest.param(
            json.dumps(kubeconfig(**{"server": "https://h", "certificate-authority": "/nowhere/ca.crt"})),
            "/nowhere/ca.crt",
            id="no such certificate",
        ),
    ],
)
def test_a_wrong_kubeconfig_is_one_clear_line(tmp_path: Path, content: str | None, want: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CredentialsError, match=want) as caught:
        load_credentials({"KUBECONFIG": str(path)})
    assert "\n" not in str(caught.value)


def test_without_any_way_in_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"KUBECONFIG is not set, this is not a pod, and .*/\.kube/config"):
        load_credentials({"HOME": str(tmp_path)})


@pytest.mark.parametrize("missing", ["ca.crt", "token"])
def test_a_pod_without_its_service_account_says_what_is_missing(
    tmp_path: Path, missing: str, authority: bytes
) -> None:
    for name, content in (("ca.crt", authority), ("token", b"t")):
        if name != missing:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(CredentialsError, match=missing):
        in_cluster_credentials({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


@pytest.mark.parametrize(
    ("host", "want"),
    [
        pytest.param("10.0.0.1", "https://10.0.0.1:6443", id="IPv4"),
        pytest.param("fd00::1", "https://[fd00::1]:6443", id="IPv6"),
    ],
)
def test_a_pod_finds_its_server(tmp_path: Path, host: str, want: str, authority: bytes) -> None:
    (tmp_path / "ca.crt").write_bytes(authority)
    (tmp_path / "token").write_text("t")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443"}
    credentials = in_cluster_credentials(environ, tmp_path)
    assert credentials.server == want
    assert credentials.tls is not None
    assert credentials.tls.check_hostname
