"""Writes charts/managedjobs/README.md from the comments in values.yaml: `python -m tests.chart.readme`."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "managedjobs"
README = CHART / "README.md"

_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][A-Za-z0-9]*):(?P<rest>.*)$")
_COMMENT = re.compile(r"^ *# ?(?P<text>.*)$")

_HEAD = """\
# Chart managedjobs

Installs Managed Jobs for Kubernetes: the operator, the rights of operator and controller pods, the
CustomResourceDefinitions `ManagedJob` and `ControllerPool`, and the rules that the API server enforces for them.
Needs Kubernetes 1.30 or later and Helm 3. One installation serves one cluster.

```
helm install managedjobs charts/managedjobs --namespace managedjobs-system --create-namespace
helm upgrade managedjobs charts/managedjobs --namespace managedjobs-system --reset-then-reuse-values
helm uninstall managedjobs --namespace managedjobs-system
```

- **Upgrade**: jobs that run are not touched. The CustomResourceDefinitions are part of the chart's templates, so an
  upgrade brings them up to date.
- **Uninstall**: the operator and the controller pods go. ManagedJobs, their child Jobs and pods, ControllerPools and
  the CustomResourceDefinitions stay (`crds.keep`); a re-install with the same release name and namespace goes on with
  them.
- **Also left by an uninstall**: the Lease, and the policy `RELEASE-lease-watch`, which decides nothing. It keeps the
  API server watching Leases (kubernetes/kubernetes#130887). Whoever removes it too and installs again may see all
  controller pods refused ("no params found", or "created by the present leader only") until the API server is
  restarted; set `policies.leaderFence` to false until then.
- **Warning**: deleting the CustomResourceDefinition `managedjobs.managedjobs.dev` deletes every ManagedJob in the
  cluster, its child Jobs and their pods.

## Rights

| who | where | what for |
|---|---|---|
| ServiceAccount `RELEASE-operator` | cluster | pools and their status, nodes, its own two CustomResourceDefinitions |
| | where ManagedJobs are run | ManagedJobs; child Jobs (dry run, stop); Events |
| | release namespace | controller pods, the Lease |
| ServiceAccount `RELEASE-controller` | where ManagedJobs are run | ManagedJobs; child Jobs, pods, logs |
| | | Services, Events |
| | cluster | one node at a time, to see whether it is lost |
| ClusterRole `RELEASE-view` | added to `view`, `edit`, `admin` | read ManagedJobs |
| ClusterRole `RELEASE-edit` | added to `edit`, `admin` | submit, change and delete ManagedJobs; never their status |
| ClusterRole `RELEASE-pool-reader` | by value | read ControllerPools |

"Where ManagedJobs are run" is the whole cluster, or each of `workloadNamespaces`. Of a ManagedJob both
write the status only. Nobody reads Secrets.

## Values

Unknown values are refused. Made from the comments in `values.yaml` by `python -m tests.chart.readme`.

| value | default | meaning |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Value:
    """One key of values.yaml; `comment` is empty when nothing is written above it."""

    path: str
    default: object
    comment: str


def documented_values(text: str) -> Iterator[Value]:
    """Each key of a values.yaml in the order of the file, with its default and the comment right above it."""
    defaults = yaml.safe_load(text)
    parents: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if found := _COMMENT.match(line):
            comment.append(found["text"])
            continue
        if (found := _KEY.match(line)) and not line.lstrip().startswith("-"):
            depth = len(found["indent"]) // 2
            if depth <= len(parents) and _is_key(defaults, path := [*parents[:depth], found["key"]]):
                parents = path
                yield Value(".".join(path), _at(defaults, path), " ".join(comment))
        comment = []


def _is_key(defaults: object, path: list[str]) -> bool:
    """Whether the path leads through maps only; lines within a list do not."""
    for key in path:
        if not isinstance(defaults, dict) or key not in defaults:
            return False
        defaults = defaults[key]
    return True


def _at(values: dict[str, Any], path: list[str]) -> object:
    defaults: Any = values
    for key in path:
        defaults = defaults[key]
    return defaults


def rendered() -> str:
    """The README that goes with the present values.yaml."""
    rows = [
        f"| `{value.path}` | {_shown(value.default)} | {value.comment.replace('|', chr(92) + '|')} |"
        for value in documented_values((CHART / "values.yaml").read_text())
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _shown(default: object) -> str:
    """A default as JSON; nothing for a map whose keys have rows of their own."""
    if isinstance(default, dict) and default:
        return ""
    return f"`{json.dumps(default)}`"


if __name__ == "__main__":
    README.write_text(rendered())
