"""The client against an API server that fails on demand: what is repeated, what is not, what is said."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from managedjobs.kube.client import Client
from managedjobs.kube.errors import (
    Conflict,
    Gone,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
    Unreadable,
)
from managedjobs.kube.transport import Options
from tests.kube.conftest import QUICK
from tests.kube.shapes import CONFIG_MAPS, ConfigMap, config_map
from tests.support.fake_api import FakeApi

Call = Callable[[Client], Coroutine[Any, Any, object]]
CALLS: dict[str, Call] = {
    "GET": lambda client: client.get(CONFIG_MAPS, "a", "old", ConfigMap),
    "POST": lambda client: client.create(CONFIG_MAPS, "a", config_map("new"), ConfigMap),
    "PATCH": lambda client: client.patch(CONFIG_MAPS, "a", "old", {"data": {"k": "v"}}, ConfigMap),
    "DELETE": lambda client: client.delete(CONFIG_MAPS, "a", "old", uid="u"),
}
NO_UID: Call = lambda client: client.delete(CONFIG_MAPS, "a", "old")  # noqa: E731 - a row of a table


@pytest.fixture(autouse=True)
async def old(api: FakeApi) -> None:
    """An object with the uid `u`."""
    item = api.store.create("api/v1/configmaps", "a", config_map("old", k="1"))
    item["metadata"]["uid"] = "u"


@pytest.mark.parametrize("method", CALLS)
async def test_a_busy_server_is_asked_again_whatever_was_asked(api: FakeApi, client: Client, method: str) -> None:
    api.answer(method, 429, "TooManyRequests", times=2)
    await CALLS[method](client)
    assert api.count(method) == 3


@pytest.mark.parametrize("method", CALLS)
async def test_a_server_that_is_away_is_told_and_found_again(api: FakeApi, method: str) -> None:
    await api.stop()
    async with Client(api.credentials(), options=QUICK) as client:
        with pytest.raises(Unreachable) as caught:
            await CALLS[method](client)
        assert not caught.value.sent
        assert "cannot connect" in str(caught.value)
        await api.start()
        await CALLS[method](client)


@pytest.mark.parametrize("method", CALLS)
async def test_a_request_that_never_left_is_repeated(api: FakeApi, method: str) -> None:
    await api.stop()
    async with Client(api.credentials(), options=Options(attempts=50, retry_initial=0.01, retry_max=0.05)) as client:
        call = asyncio.create_task(CALLS[method](client))
        await asyncio.wait([call], timeout=0.05)
        assert not call.done()
        await api.start()
        await call
    assert api.count(method) == 1


@pytest.mark.parametrize(
    ("method", "call", "tries"),
    [
        pytest.param("GET", CALLS["GET"], 2, id="a read is repeated"),
        pytest.param("DELETE", CALLS["DELETE"], 2, id="a delete that names the uid is repeated"),
        pytest.param("DELETE", NO_UID, 1, id="a delete by name alone could hit a successor"),
        pytest.param("POST", CALLS["POST"], 1, id="a create is the caller's to repeat"),
        pytest.param("PATCH", CALLS["PATCH"], 1, id="a patch is the caller's to decide again"),
    ],
)
@pytest.mark.parametrize("fault", ["server error", "cut", "no answer"])
async def test_only_what_does_no_harm_is_repeated(
    api: FakeApi, client: Client, method: str, call: Call, tries: int, fault: str
) -> None:
    if fault == "server error":
        api.answer(method, 500, "InternalError")
    elif fault == "cut":
        api.cut(method)
    else:
        api.hang(method)
    if tries == 1:
        with pytest.raises((ServerError, Unreachable)):
            await call(client)
    else:
        await call(client)
    # aiohttp by itself repeats an idempotent request whose reused connection was closed; none was reused here.
    assert api.count(method) == tries


async def test_a_write_without_an_answer_may_have_happened(api: FakeApi, client: Client) -> None:
    api.hang("POST", done=True)
    with pytest.raises(Unreachable, match="no answer in time") as caught:
        await CALLS["POST"](client)
    assert caught.value.sent
    assert await client.get(CONFIG_MAPS, "a", "new", ConfigMap)


async def test_a_delete_whose_answer_was_lost_counts_as_done(api: FakeApi, client: Client) -> None:
    api.cut("DELETE", done=True)
    assert await CALLS["DELETE"](client) is True
    assert await CALLS["DELETE"](client) is False


async def test_a_delete_with_another_uid_touches_nothing(api: FakeApi, client: Client) -> None:
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", "old", uid="another")
    assert await client.get(CONFIG_MAPS, "a", "old", ConfigMap)


async def test_patience_has_an_end(api: FakeApi, client: Client) -> None:
    api.answer("GET", 503, times=100)
    with pytest.raises(ServerError):
        await CALLS["GET"](client)
    assert api.count("GET") == QUICK.attempts


async def test_the_server_may_say_how_long_to_wait(api: FakeApi) -> None:
    api.answer("GET", 429, headers={"Retry-After": "1"})
    options = Options(retry_initial=0.001, retry_after_max=0.5)
    async with Client(api.credentials(), options=options) as client:
        with pytest.raises(TooManyRequests) as caught:
            await CALLS["GET"](client)
        assert caught.value.retry_after == 1.0
    assert api.count("GET") == 1


@pytest.mark.parametrize("body", ["", "not json", '{"metadata": 1}'])
async def test_a_good_status_with_a_bad_body_is_unreadable(api: FakeApi, client: Client, body: str) -> None:
    api.answer_text("GET", 200, body)
    with pytest.raises(Unreadable, match="GET /api/v1/namespaces/a/configmaps/old"):
        await CALLS["GET"](client)


async def test_what_is_not_there_is_named(client: Client) -> None:
    with pytest.raises(NotFound, match='GET /api/v1/namespaces/a/configmaps/x: HTTP 404 NotFound: configmaps "x"'):
        await client.get(CONFIG_MAPS, "a", "x", ConfigMap)


async def test_a_list_is_read_page_by_page(api: FakeApi, client: Client) -> None:
    for number in range(6):
        api.store.create("api/v1/configmaps", "b", config_map(f"n{number}"))
    listing = await client.list(CONFIG_MAPS, "b", ConfigMap, limit=2)
    assert [item.metadata.name for item in listing.items] == [f"n{number}" for number in range(6)]
    assert listing.resource_version == str(api.store.version)
    assert api.count("GET") == 3
    assert "resourceVersion" not in api.seen[0].query  # consistent, not from a cache


async def test_only_the_first_page_asks_for_a_version(api: FakeApi, client: Client) -> None:
    for number in range(3):
        api.store.create("api/v1/configmaps", "b", config_map(f"n{number}"))
    await client.list(CONFIG_MAPS, "b", dict, limit=2, resource_version="0")
    assert [seen.query.get("resourceVersion") for seen in api.seen] == ["0", None]


async def test_a_list_that_takes_too_long_starts_again_in_one_piece(api: FakeApi, client: Client) -> None:
    for number in range(4):
        api.store.create("api/v1/configmaps", "b", config_map(f"n{number}"))
    first = await client.list(CONFIG_MAPS, "b", dict, limit=2)
    api.seen.clear()

    def compact_after_the_first_page() -> None:
        api.store.create("api/v1/configmaps", "b", config_map("n4"))
        api.store.compact()

    api.before_next_page = compact_after_the_first_page
    listing = await client.list(CONFIG_MAPS, "b", dict, limit=2)
    assert len(first.items) == 4
    assert len(listing.items) == 5
    assert [seen.query.get("limit") for seen in api.seen] == ["2", "2", None]


async def test_a_list_that_never_holds_still_is_gone(api: FakeApi, client: Client) -> None:
    api.answer("GET", 410, "Expired", times=2)
    with pytest.raises(Gone):
        await client.list(CONFIG_MAPS, "b", dict)


async def test_one_object_of_another_shape_does_not_hide_the_others(api: FakeApi, client: Client) -> None:
    api.store.create("api/v1/configmaps", "a", {"metadata": {"name": "odd"}, "data": {"k": 1}})
    listing = await client.list(CONFIG_MAPS, None, ConfigMap)
    assert [item.metadata.name for item in listing.items] == ["old"]
    assert list(listing.unreadable) == [("a", "odd")]


async def test_a_dry_run_leaves_nothing(api: FakeApi, client: Client) -> None:
    made = await client.create(CONFIG_MAPS, "a", config_map("dry"), ConfigMap, dry_run=True)
    assert made.metadata.name == "dry"
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", "dry", ConfigMap)


async def test_requests_say_who_we_are_and_ask_for_no_compression(api: FakeApi, client: Client) -> None:
    await CALLS["PATCH"](client)
    headers = api.seen[-1].headers
    assert headers["User-Agent"].startswith("managedjobs/")
    assert headers["Accept-Encoding"] == "identity"
    assert headers["Content-Type"] == "application/merge-patch+json"


async def test_a_rate_limit_holds_requests_back(api: FakeApi) -> None:
    options = Options(qps=50.0, burst=2)
    async with Client(api.credentials(), options=options) as client:
        begun = client.clock.monotonic()
        for _ in range(5):
            await CALLS["GET"](client)
        assert client.clock.monotonic() - begun >= 3 / 50


async def test_waiting_in_line_for_a_connection_is_no_time_out(api: FakeApi) -> None:
    api.hang("GET")
    options = Options(connections=1, request_timeout=0.2, attempts=1)
    async with Client(api.credentials(), options=options) as client:
        calls = [asyncio.create_task(CALLS["GET"](client)) for _ in range(3)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(answer, Unreachable) for answer in answers] == [True, False, False]


async def test_a_closed_client_says_so(client: Client) -> None:
    await CALLS["GET"](client)
    await client.close()
    with pytest.raises(KubeError, match="closed"):
        await CALLS["GET"](client)
