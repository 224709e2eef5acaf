"""The cache: right after any mix of lists, events, own writes, gaps and re-created objects."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managedjobs.kube.cache import Cache, is_newer
from managedjobs.kube.objects import Identity, Listing, WatchEvent, identity_of

Item = dict[str, Any]


def item(name: str, version: int, uid: str = "u") -> Item:
    """An object, as a dict."""
    return {"metadata": {"namespace": "a", "name": name, "uid": uid, "resourceVersion": str(version)}}


def listing(version: int, *items: Item) -> Listing[Item]:
    """A list of these objects."""
    return Listing(list(items), str(version))


@dataclass
class Told:
    """Checks that the changes that are told form a chain, and keeps what they add up to."""

    known: dict[tuple[str, str], Item] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def __call__(self, old: Item | None, new: Item | None) -> None:
        """One change."""
        one = new or old
        assert one is not None
        key = identity_of(one).key
        assert self.known.get(key) is old
        if new is None:
            del self.known[key]
        else:
            assert old is None or identity_of(old).uid == identity_of(new).uid
            self.known[key] = new
        verb = "-" if new is None else "+" if old is None else "~"
        self.lines.append(f"{verb}{identity_of(one).name}@{identity_of(one).resource_version}")


def test_a_list_tells_what_came_changed_and_went() -> None:
    told = Told()
    cache: Cache[Item] = Cache(told)
    cache.replace(listing(10, item("kept", 1), item("changed", 2), item("gone", 3)))
    told.lines.clear()
    cache.replace(listing(20, item("kept", 1), item("changed", 12), item("new", 15)))
    assert sorted(told.lines) == ["+new@15", "-gone@3", "~changed@12"]


def test_an_object_made_anew_under_its_name_goes_and_comes() -> None:
    told = Told()
    cache: Cache[Item] = Cache(told)
    cache.replace(listing(10, item("x", 5, "first")))
    cache.replace(listing(20, item("x", 15, "second")))
    assert told.lines == ["+x@5", "-x@5", "+x@15"]


def test_what_can_not_be_read_is_not_gone() -> None:
    cache: Cache[Item] = Cache()
    cache.replace(listing(10, item("x", 5)))
    cache.replace(Listing([], "20", {("a", "x"): "wrong shape"}))
    assert cache.get("a", "x") == item("x", 5)


def test_an_older_version_never_replaces_a_newer_one() -> None:
    cache: Cache[Item] = Cache()
    cache.replace(listing(10, item("x", 5)))
    cache.offer(item("x", 12))
    cache.apply(WatchEvent("MODIFIED", item("x", 11), "11"))
    cache.replace(listing(11, item("x", 11)))
    assert cache.get("a", "x") == item("x", 12)


def test_an_own_write_that_a_list_is_too_old_for_stays() -> None:
    cache: Cache[Item] = Cache()
    cache.replace(listing(10))
    cache.offer(item("x", 12))
    cache.replace(listing(11))
    assert cache.get("a", "x") == item("x", 12)
    cache.replace(listing(13))
    assert cache.get("a", "x") is None


def test_the_late_answer_to_a_write_does_not_bring_back_what_was_deleted() -> None:
    cache: Cache[Item] = Cache()
    cache.replace(listing(10, item("x", 5)))
    cache.apply(WatchEvent("DELETED", item("x", 13), "13"))
    cache.offer(item("x", 12))
    assert cache.objects == {}


def test_the_late_deletion_of_a_predecessor_leaves_the_successor() -> None:
    cache: Cache[Item] = Cache()
    cache.replace(listing(10, item("x", 5, "first")))
    cache.offer(item("x", 15, "second"))
    cache.apply(WatchEvent("DELETED", item("x", 14, "first"), "14"))
    assert cache.get("a", "x") == item("x", 15, "second")


def test_a_server_restored_from_a_backup_is_believed() -> None:
    told = Told()
    cache: Cache[Item] = Cache(told)
    cache.replace(listing(100, item("back", 90), item("lost", 80)))
    told.lines.clear()
    cache.replace(listing(50, item("back", 40)))
    assert sorted(told.lines) == ["-lost@80", "~back@40"]


@pytest.mark.parametrize(
    ("version", "than", "want"),
    [
        pytest.param("10", "9", True, id="compared as numbers"),
        pytest.param("9", "10", False, id="older"),
        pytest.param("9", "9", False, id="the same"),
        pytest.param("abc", "9", True, id="no number: another version is taken for newer"),
        pytest.param("1", "", True, id="newer than nothing"),
    ],
)
def test_versions_are_ordered(version: str, than: str, want: bool) -> None:
    assert is_newer(version, than) is want


def test_the_identity_of_an_object_without_metadata_is_empty() -> None:
    assert identity_of({}) == Identity("", "", "", "")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "deliver", "cut and list", "answer"]),
        st.sampled_from(["x", "y", "z"]),
        st.integers(1, 4),
    ),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=300, deadline=None)
def test_after_the_last_event_the_cache_is_what_the_server_has(steps: list[tuple[str, str, int]]) -> None:
    """A model: one server, a watch that lags and breaks, and answers to our own writes that come at any time."""
    told = Told()
    cache: Cache[Item] = Cache(told)
    server: dict[str, Item] = {}
    pending: list[WatchEvent[Item]] = []
    answers: list[Item] = []
    version = uids = 0
    cache.replace(listing(0))
    for what, name, number in [*steps, ("deliver", "x", len(steps))]:
        if what == "write":
            version += 1
            uids += name not in server
            uid = identity_of(server[name]).uid if name in server else f"u{uids}"
            kind = "MODIFIED" if name in server else "ADDED"
            server[name] = item(name, version, uid)
            pending.append(WatchEvent(kind, server[name], str(version)))  # type: ignore[arg-type] # of the two
            answers.append(server[name])
        elif what == "delete" and name in server:
            version += 1
            gone = item(name, version, identity_of(server.pop(name)).uid)
            pending.append(WatchEvent("DELETED", gone, str(version)))
        elif what == "deliver":
            for event in pending[:number]:
                cache.apply(event)
            del pending[:number]
        elif what == "cut and list":
            pending.clear()
            cache.replace(listing(version, *server.values()))
        elif what == "answer" and answers:
            cache.offer(answers.pop(number % len(answers)))
        assert told.known == cache.objects
    assert cache.objects == {("a", name): one for name, one in server.items()}
