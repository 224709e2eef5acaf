"""Pools and nodes: what the limits of the pools come from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from managedjobs.api.pools import Pool
from managedjobs.core.scheduling.limits import PoolLimits, pool_limits
from managedjobs.core.scheduling.pool import Node
from managedjobs.kube.cache import is_newer


class Fleet:
    """The latest known pools and nodes; `changed` has the pools that are new, other or gone."""

    def __init__(self) -> None:
        self.pools: dict[str, Pool] = {}
        self.nodes: dict[str, Node] = {}
        self.unready_since: dict[str, datetime] = {}
        self.changed: set[str] = set()
        self._limits: dict[str, PoolLimits] = {}

    def put_pool(self, pool: Pool) -> None:
        """Take a pool over if it is newer than what is known."""
        known = self.pools.get(pool.name)
        if known is not None and known.uid == pool.uid and not is_newer(pool.resource_version, known.resource_version):
            return
        self.pools[pool.name] = pool
        if known is None or known.uid != pool.uid or known.spec != pool.spec:
            self._pool_changed(pool.name)

    def remove_pool(self, name: str, uid: str) -> None:
        """The pool is gone; its live jobs run on."""
        known = self.pools.get(name)
        if known is not None and known.uid == uid:
            del self.pools[name]
            self._pool_changed(name)

    def listed_pools(self, pools: Iterable[Pool], version: str) -> None:
        """Take over a consistent list of all pools, of resourceVersion `version`."""
        present = set()
        for pool in pools:
            present.add(pool.name)
            self.put_pool(pool)
        for pool in list(self.pools.values()):
            if pool.name not in present and not is_newer(pool.resource_version, version):
                self.remove_pool(pool.name, pool.uid)

    def change_node(self, old: Node | None, new: Node | None) -> bool:
        """A node appeared, changed, or is gone; true when its readiness is another."""
        node = new or old
        if node is None or old == new:
            return False
        if new is not None:
            self.nodes[new.name] = new
        else:
            self.nodes.pop(node.name, None)
        self._limits.clear()
        self.changed.update(self.pools)
        before = self.unready_since.pop(node.name, None)
        since = new.unready_since if new is not None else None
        if since is not None:
            self.unready_since[node.name] = since
        return before != since

    def limits(self, name: str) -> PoolLimits | None:
        """The limits of that pool; None: it does not exist."""
        pool = self.pools.get(name)
        if pool is None:
            return None
        known = self._limits.get(name)
        if known is None:
            known = self._limits[name] = pool_limits(pool.spec, self.nodes.values())
        return known

    def _pool_changed(self, name: str) -> None:
        self._limits.pop(name, None)
        self.changed.add(name)
