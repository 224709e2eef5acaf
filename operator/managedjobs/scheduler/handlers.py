"""The doorbell: kopf's handlers, which put what they hear of into the feed and write nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kopf

from managedjobs.api.names import GROUP, VERSION
from managedjobs.scheduler.feed import Feed


def make_registry() -> kopf.OperatorRegistry:
    """The handlers, which find the feed in `memo.feed`."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(log_in)
    kopf.on.event(GROUP, VERSION, "managedjobs", registry=registry)(on_job)
    kopf.on.event(GROUP, VERSION, "controllerpools", registry=registry)(on_pool)
    return registry


def log_in(**kwargs: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401 -- kopf's own protocol
    """Kubeconfig or service account, with all that the Kubernetes library understands."""
    return kopf.login_via_client(**kwargs)


async def on_job(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
    """A ManagedJob appeared, changed, or went."""
    feed: Feed = memo.feed
    feed.job(event)


async def on_pool(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
    """A ControllerPool appeared, changed, or went."""
    feed: Feed = memo.feed
    feed.pool(event)


class NoDiffs(kopf.DiffBaseStorage):
    """We have no handlers of differences: building them would be most of the work of each event."""

    def build(self, **_: Any) -> kopf.BodyEssence:  # noqa: ANN401 -- kopf's own protocol
        """Nothing to compare."""
        return kopf.BodyEssence({})

    def fetch(self, **_: Any) -> kopf.BodyEssence | None:  # noqa: ANN401 -- kopf's own protocol
        """Nothing was kept."""
        return None

    def store(self, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
        """Keep nothing: nothing is written on users' objects."""


class NoProgress(kopf.ProgressStorage):
    """No handler here has progress to keep."""

    def fetch(self, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
        """Nothing was kept."""

    def store(self, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
        """Keep nothing."""

    def purge(self, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
        """Nothing to remove."""

    def touch(self, **_: Any) -> None:  # noqa: ANN401 -- kopf's own protocol
        """Nothing to touch."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Nothing of ours is in it."""
        return essence


def make_settings() -> kopf.OperatorSettings:
    """kopf's settings: it watches and tells, and writes nothing."""
    settings = kopf.OperatorSettings()
    settings.persistence.finalizer = f"{GROUP}/unused"
    settings.persistence.diffbase_storage = NoDiffs()
    settings.persistence.progress_storage = NoProgress()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.server_timeout = 300
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.process.ultimate_exiting_timeout = None
    return settings
