"""The informer against a server whose watches break, expire and talk rubbish."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest

from managedjobs.kube.backoff import Backoff
from managedjobs.kube.client import Client
from managedjobs.kube.informer import Informer
from tests.kube.conftest import QUICK
from tests.kube.shapes import CONFIG_MAPS, ConfigMap, config_map
from tests.support.fake_api import FakeApi
from tests.support.waiting import until

WHERE = "api/v1/configmaps"
Start = Callable[..., Informer[ConfigMap]]


class Changes(list[str]):
    """What the informer told, in short: `+name`, `~name`, `-name`."""

    def __call__(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        """One change."""
        if new is None:
            assert old is not None
            self.append(f"-{old.metadata.name}")
        else:
            self.append(f"{'~' if old else '+'}{new.metadata.name}")


@pytest.fixture
async def start(client: Client) -> AsyncIterator[Start]:
    """Starts informers, and ends them after the test."""
    tasks: list[asyncio.Task[None]] = []

    def begin(told: Changes | None = None, of: Client = client, **options: str) -> Informer[ConfigMap]:
        informer = Informer(of, CONFIG_MAPS, ConfigMap, on_change=told, backoff=Backoff(0.001, 0.01), **options)
        tasks.append(asyncio.create_task(informer.run()))
        return informer

    yield begin
    for task in tasks:
        assert not task.done(), "an informer ended by itself"
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_it_lists_then_follows(api: FakeApi, start: Start) -> None:
    api.store.create(WHERE, "a", config_map("x", k="1"))
    told = Changes()
    informer = start(told)
    await informer.synced.wait()
    assert told == ["+x"]
    api.store.patch(WHERE, "a", "x", {"data": {"k": "2"}})
    api.store.create(WHERE, "b", config_map("y"))
    api.store.delete(WHERE, "a", "x", {})
    await until(lambda: told == ["+x", "~x", "+y", "-x"], "all changes are told")
    assert list(informer.objects) == [("b", "y")]


async def test_it_sees_only_what_was_asked_for(api: FakeApi, start: Start) -> None:
    for namespace, name, labels in (("a", "x", {"app": "mj"}), ("a", "y", {}), ("b", "z", {"app": "mj"})):
        api.store.create(WHERE, namespace, {"metadata": {"name": name, "labels": labels}})
    informer = start(namespace="a", label_selector="app=mj")
    await informer.synced.wait()
    assert list(informer.objects) == [("a", "x")]


async def test_a_cut_watch_goes_on_where_it_broke(api: FakeApi, start: Start) -> None:
    told = Changes()
    informer = start(told)
    await until(lambda: api.watches, "the watch is open")
    api.cut_watches()
    api.store.create(WHERE, "a", config_map("x"))
    await until(lambda: told == ["+x"], "the change in the gap is told")
    assert api.count("GET", limit="500") == 1, "it did not list again"
    await until(lambda: informer.last_error is None, "the trouble is over")


async def test_what_was_deleted_while_the_history_expired_is_told(api: FakeApi, start: Start) -> None:
    for name in ("stays", "goes", "changes", "again"):
        api.store.create(WHERE, "a", config_map(name))
    told = Changes()
    informer = start(told)
    await until(lambda: api.watches, "the watch is open")
    first = informer.get("a", "again")
    told.clear()
    api.hang("WATCH")  # the next watch says nothing while the world moves on
    api.cut_watches()
    await until(lambda: api.count("GET", watch="1") == 2, "the second watch hangs")
    api.store.delete(WHERE, "a", "goes", {})
    api.store.patch(WHERE, "a", "changes", {"data": {"k": "2"}})
    api.store.delete(WHERE, "a", "again", {})
    api.store.create(WHERE, "a", config_map("again"))
    api.store.create(WHERE, "a", config_map("comes"))
    api.store.compact()
    await api.stop()
    await api.start()
    await until(lambda: "+comes" in told and "-goes" in told, "the list is diffed")
    assert sorted(told) == ["+again", "+comes", "-again", "-goes", "~changes"]
    assert told.index("-again") < told.index("+again")
    second = informer.get("a", "again")
    assert first is not None
    assert second is not None
    assert first.metadata.uid != second.metadata.uid


async def test_an_expired_watch_lists_again_but_not_in_a_tight_loop(api: FakeApi, start: Start) -> None:
    api.answer("WATCH", 410, "Expired", times=5)
    told = Changes()
    informer = start(told)
    await until(lambda: api.watches, "the watch is open at last")
    assert api.count("GET", limit="500") == 6
    assert informer.synced.is_set()


async def test_a_410_inside_the_watch_lists_again(api: FakeApi, start: Start) -> None:
    told = Changes()
    start(told)
    await until(lambda: api.watches, "the watch is open")
    api.send_line(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
    await until(lambda: api.count("GET", limit="500") == 2, "it lists again")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"rubbish\n", id="no json"),
        pytest.param(b'{"type":"SOMETHING","object":{}}\n', id="an unknown type of event"),
        pytest.param(
            b'{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}\n', id="an error"
        ),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"half', id="half a line, then a cut"),
    ],
)
async def test_rubbish_in_a_watch_opens_another(api: FakeApi, start: Start, line: bytes) -> None:
    told = Changes()
    start(told)
    await until(lambda: api.watches, "the watch is open")
    api.send_line(line)
    if not line.endswith(b"\n"):
        api.cut_watches()
    await until(lambda: api.count("GET", watch="1") == 2, "the watch is opened again")
    api.store.create(WHERE, "a", config_map("x"))
    await until(lambda: told == ["+x"], "changes are told as before")


async def test_an_object_of_another_shape_is_passed_over(
    api: FakeApi, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    api.store.create(WHERE, "a", config_map("x", k="1"))
    told = Changes()
    informer = start(told)
    await until(lambda: api.watches, "the watch is open")
    api.store.patch(WHERE, "a", "x", {"data": {"k": 2}})
    api.store.create(WHERE, "a", config_map("y"))
    await until(lambda: told == ["+x", "+y"], "the next object is told")
    known = informer.get("a", "x")
    assert known is not None
    assert known.data == {"k": "1"}, "what was known stays"
    assert [record.levelno for record in caplog.records if record.message == "object ignored"] == [logging.WARNING]


async def test_an_event_in_many_pieces_is_put_together(api: FakeApi, start: Start) -> None:
    informer = start()
    await until(lambda: api.watches, "the watch is open")
    body = b'{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a","uid":"u","resourceVersion":"999"}}}\n'
    for byte in body:
        api.send_line(bytes([byte]))
    await until(lambda: ("a", "x") in informer.objects, "it is known")


async def test_a_watch_that_the_server_ends_is_opened_again_from_the_last_bookmark(api: FakeApi, start: Start) -> None:
    start()
    await until(lambda: api.watches, "the watch is open")
    api.store.create("api/v1/secrets", "a", {"metadata": {"name": "other"}})  # moves the version on
    assert api.seen[-1].query["allowWatchBookmarks"] == "true"
    api.bookmark()
    api.cut_watches()
    await until(lambda: api.count("GET", watch="1") == 2, "the watch is opened again")
    assert api.seen[-1].query["resourceVersion"] == str(api.store.version)


async def test_a_silent_connection_is_given_up(api: FakeApi, start: Start) -> None:
    impatient = Client(api.credentials(), options=type(QUICK)(watch_inactivity=0.1, retry_initial=0.001))
    async with impatient:
        informer = start(of=impatient)
        await until(lambda: api.count("GET", watch="1") >= 2, "the watch is opened again")
        assert informer.synced.is_set()


async def test_a_long_outage_costs_no_list(api: FakeApi, start: Start) -> None:
    informer = start()
    await until(lambda: api.watches, "the watch is open")
    api.cut("WATCH", times=10)
    api.cut_watches()
    await until(lambda: api.count("GET", watch="1") == 12 and api.watches, "the watch is open again")
    assert api.count("GET", limit="500") == 1
    assert informer.synced.is_set()


async def test_a_version_that_the_server_never_takes_again_is_not_asked_for_for_ever(
    api: FakeApi, start: Start
) -> None:
    api.answer("WATCH", 504, "Timeout", times=3)
    start()
    await until(lambda: api.count("GET", limit="500") == 2, "it lists again")


async def test_a_server_that_is_away_is_waited_for(api: FakeApi, start: Start) -> None:
    await api.stop()
    told = Changes()
    informer = start(told)
    await until(lambda: informer.last_error is not None, "the trouble is visible")
    assert "cannot connect" in (informer.last_error or "")
    assert not informer.synced.is_set()
    api.store.create(WHERE, "a", config_map("x"))
    await api.start()
    await informer.synced.wait()
    assert told == ["+x"]


@pytest.mark.parametrize("code", [401, 403, 404, 422, 500])
async def test_no_answer_of_the_server_ends_it(api: FakeApi, start: Start, code: int) -> None:
    api.answer("GET", code, times=6)
    informer = start()
    await informer.synced.wait()


async def test_the_last_activity_moves_with_bookmarks(api: FakeApi, start: Start) -> None:
    informer = start()
    await until(lambda: api.watches, "the watch is open")
    before = informer.last_activity
    api.bookmark()
    await until(lambda: informer.last_activity > before, "a bookmark is a sign of life")


async def test_the_answer_to_an_own_write_is_known_at_once(api: FakeApi, client: Client, start: Start) -> None:
    told = Changes()
    informer = start(told)
    await until(lambda: api.watches, "the watch is open")
    informer.offer(await client.create(CONFIG_MAPS, "a", config_map("x"), ConfigMap))
    assert ("a", "x") in informer.objects
    api.store.create(WHERE, "a", config_map("y"))
    await until(lambda: "+y" in told, "the watch has caught up")
    assert told == ["+x", "+y"], "the watch's own event is no second change"
