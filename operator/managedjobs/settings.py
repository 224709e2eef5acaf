"""What the operator is told by its environment, read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from managedjobs.api.controller_manifest import ControllerSettings
from managedjobs.api.parse import MalformedObjectError
from managedjobs.api.pools import spec_from_json
from managedjobs.api.quantity import MalformedQuantityError, parse_quantity
from managedjobs.api.render import Json

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
_PREFIX = "MANAGEDJOBS_"


class SettingsError(ValueError):
    """Settings that can't be used; the message has one line for each, with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the operator; each comes from the variable MANAGEDJOBS_<NAME>."""

    namespace: str = "managedjobs-system"
    """The release namespace: controller pods and the Lease are there."""
    pod_name: str = "managedjobs-operator"
    lease_name: str = "managedjobs-operator"
    workload_namespaces: tuple[str, ...] = ()
    """Empty: all namespaces."""
    default_pool: Mapping[str, Json] | None = None
    health_port: int = 8081
    metrics_port: int = 8080
    log_level: str = "info"
    log_format: str = "text"
    controller: ControllerSettings = field(default_factory=ControllerSettings)


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings in `environment` (default: the process's own). Raises SettingsError."""
    read = _Reader(os.environ if environment is None else environment)
    log_level, log_format = read.choice("LOG_LEVEL", LOG_LEVELS), read.choice("LOG_FORMAT", LOG_FORMATS)
    namespace = read.text("NAMESPACE") or "managedjobs-system"
    controller = ControllerSettings(
        namespace=namespace,
        image=read.text("IMAGE") or "managedjobs:latest",
        image_pull_policy=read.text("IMAGE_PULL_POLICY"),
        image_pull_secrets=read.names("IMAGE_PULL_SECRETS"),
        service_account=read.text("CONTROLLER_SERVICE_ACCOUNT") or "managedjobs-controller",
        priority_class=read.text("CONTROLLER_PRIORITY_CLASS"),
        cpu_request=read.quantity("CONTROLLER_CPU_REQUEST", "10m"),
        memory_request=read.quantity("CONTROLLER_MEMORY_REQUEST", "32Mi"),
        propagate_labels=read.names("PROPAGATE_LABELS"),
        keep_jobs=read.flag("KEEP_JOBS", default=True),
        log_level=log_level,
        log_format=log_format,
    )
    settings = Settings(
        namespace=namespace,
        pod_name=read.text("POD_NAME") or "managedjobs-operator",
        lease_name=read.text("LEASE_NAME") or "managedjobs-operator",
        workload_namespaces=read.names("WORKLOAD_NAMESPACES"),
        default_pool=read.pool("DEFAULT_POOL"),
        health_port=read.port("HEALTH_PORT", 8081),
        metrics_port=read.port("METRICS_PORT", 8080),
        log_level=log_level,
        log_format=log_format,
        controller=controller,
    )
    if read.problems:
        raise SettingsError("\n".join(read.problems))
    return settings


class _Reader:
    """Reads one variable at a time and remembers what is wrong, so that all of it is said at once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[str] = []

    def text(self, name: str) -> str | None:
        return self._environment.get(_PREFIX + name, "").strip() or None

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in (self.text(name) or "").split(",") if part.strip())

    def flag(self, name: str, *, default: bool) -> bool:
        given = (self.text(name) or str(default)).lower()
        if given not in ("true", "false"):
            self._wrong(name, given, "write true or false")
        return given == "true"

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        given = (self.text(name) or ("info" if "info" in allowed else allowed[0])).lower()
        if given not in allowed:
            self._wrong(name, given, f"write one of {', '.join(allowed)}")
            return allowed[0]
        return given

    def port(self, name: str, default: int) -> int:
        given = self.text(name) or str(default)
        if not given.isdigit() or int(given) > 65535:
            self._wrong(name, given, "write a port from 0 to 65535 (0: any free one)")
            return default
        return int(given)

    def quantity(self, name: str, default: str) -> str:
        given = self.text(name) or default
        try:
            parse_quantity(given)
        except MalformedQuantityError as error:
            self._wrong(name, given, str(error))
        return given

    def pool(self, name: str) -> Mapping[str, Json] | None:
        given = self.text(name)
        if given is None:
            return None
        try:
            return spec_from_json(given)
        except MalformedObjectError as error:
            self._wrong(name, given, f"write the spec of a ControllerPool as JSON ({error})")
            return None

    def _wrong(self, name: str, given: str, remedy: str) -> None:
        self.problems.append(f"{_PREFIX}{name}={given!r}: {remedy}")
