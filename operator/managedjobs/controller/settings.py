"""What a controller is told by its environment, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from managedjobs import __version__
from managedjobs.core.driving.view import Me

_PREFIX = "MANAGEDJOBS_"
_CHOICES = (
    ("KEEP_JOBS", "true", ("true", "false")),
    ("LOG_LEVEL", "info", ("debug", "info", "warning", "error")),
    ("LOG_FORMAT", "text", ("text", "json")),
)
"""Variables with their default and the words that they take."""


class SettingsError(ValueError):
    """Settings that can't be used; the message has one line for each, with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one controller; each comes from the variable MANAGEDJOBS_<NAME>."""

    namespace: str
    name: str
    """The ManagedJob to drive; these two come from the command line."""
    pod_uid: str
    pod_name: str
    node_name: str | None = None
    job_uid: str = ""
    """"": whatever object has the name at the start."""
    predecessor: str = ""
    propagate_labels: frozenset[str] = frozenset()
    keep_jobs: bool = True
    log_level: str = "info"
    log_format: str = "text"

    def identity(self, job_uid: str) -> Me:
        """Who this controller is, for decisions about the ManagedJob of that uid."""
        return Me(
            pod_uid=self.pod_uid,
            pod_name=self.pod_name,
            job_uid=job_uid,
            node_name=self.node_name,
            predecessor=self.predecessor,
            version=__version__,
            keep_jobs=self.keep_jobs,
        )


def read_settings(namespace: str, name: str, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings in `environment` (default: the process's own). Raises SettingsError with all that is wrong."""
    given = os.environ if environment is None else environment

    def text(variable: str, default: str = "") -> str:
        return given.get(_PREFIX + variable, "").strip() or default

    problems = []
    if not namespace or not name:
        problems.append("--namespace and --name must name the ManagedJob to drive")
    if not text("POD_UID"):
        problems.append("MANAGEDJOBS_POD_UID is not set: write the uid of this pod, it is the controller's identity")
    for variable, default, allowed in _CHOICES:
        if text(variable, default).lower() not in allowed:
            problems.append(f"MANAGEDJOBS_{variable} is {text(variable)!r}: write one of {', '.join(allowed)}")
    if problems:
        raise SettingsError("\n".join(problems))
    return Settings(
        namespace=namespace,
        name=name,
        pod_uid=text("POD_UID"),
        pod_name=text("POD_NAME", name),
        node_name=text("NODE_NAME") or None,
        job_uid=text("JOB_UID"),
        predecessor=text("PREDECESSOR"),
        propagate_labels=frozenset(part.strip() for part in text("PROPAGATE_LABELS").split(",") if part.strip()),
        keep_jobs=text("KEEP_JOBS", "true").lower() == "true",
        log_level=text("LOG_LEVEL", "info").lower(),
        log_format=text("LOG_FORMAT", "text").lower(),
    )
