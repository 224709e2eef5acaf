"""What a Docker daemon does to the machine's network and mounts, and how it is undone."""

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.cluster.cache import Cache
from tests.cluster.console import run, succeeds

_FORWARDING: Final = Path("/proc/sys/net/ipv4/ip_forward")
_BRIDGE: Final = r"docker0|br-[0-9a-f]{12}"
_LINK: Final = re.compile(rf"{_BRIDGE}|veth[0-9a-f]{{7}}")
_RULE: Final = re.compile(rf"-j DOCKER|\b(?:{_BRIDGE})\b")


def remember(cache: Cache) -> None:
    """Writes down how things are before a daemon starts; kept if an earlier daemon was never undone."""
    file = _file(cache)
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    before = {"forwarding": _FORWARDING.read_text().strip(), "policy": _forward_policy(), "links": _links()}
    file.write_text(json.dumps(before))


def restore(cache: Cache) -> None:
    """Removes Docker's bridges, chains and rules, and puts policy and forwarding back; nothing without `remember`."""
    file = _file(cache)
    if not file.exists():
        return
    before = json.loads(file.read_text())
    for link in sorted(set(_links()) - set(before["links"])):
        succeeds(["ip", "link", "delete", link])
    for table, rule in docker_rules(run(["iptables-save"])):
        succeeds(["iptables", "-t", table, "-D", *rule])
    for table in ("filter", "nat", "raw"):
        chains = docker_chains(run(["iptables", "-t", table, "-S"]))
        for action in ("-F", "-X"):  # chains refer to each other: empty all before any is removed
            for chain in chains:
                succeeds(["iptables", "-t", table, action, chain])
    run(["iptables", "-P", "FORWARD", before["policy"]])
    _FORWARDING.write_text(before["forwarding"])
    file.unlink()


def docker_rules(saved: str) -> list[tuple[str, list[str]]]:
    """Table and words of each rule of Docker's in other people's chains, from the text of `iptables-save`."""
    rules: list[tuple[str, list[str]]] = []
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:]
        elif line.startswith("-A ") and not line.startswith("-A DOCKER") and _RULE.search(line):
            rules.append((table, shlex.split(line.removeprefix("-A "))))
    return rules


def docker_chains(listed: str) -> list[str]:
    """The chains that Docker made, from the text of `iptables -S`."""
    return re.findall(r"^-N (DOCKER\S*)", listed, re.MULTILINE)


def unmount_below(*folders: Path) -> None:
    """Detaches everything that is mounted at or below these folders, the deepest first."""
    for point in sorted(_mounts_below(folders), reverse=True):
        succeeds(["umount", "--lazy", point])


def _mounts_below(folders: Iterable[Path]) -> list[str]:
    points = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [point for point in points if any(f"{point}/".startswith(f"{folder}/") for folder in folders)]


def _forward_policy() -> str:
    found = re.search(r"^-P FORWARD (\w+)", run(["iptables", "-S", "FORWARD"]), re.MULTILINE)
    return found.group(1) if found else "ACCEPT"


def _links() -> list[str]:
    return [folder.name for folder in Path("/sys/class/net").iterdir() if _LINK.fullmatch(folder.name)]


def _file(cache: Cache) -> Path:
    return cache.run / "network-before.json"
