"""What may change in a stored job, and what may not."""

from dataclasses import dataclass

from tests.crds.objects import CONTAINER, SHORT, TASKS, TEMPLATE, Manifest

AFTER = "can't change after the start; delete and apply again, or use a new name"
_EVER = "can't change; delete and apply again, or use a new name"


@dataclass(frozen=True)
class Change:
    """A change to a spec. `says` is the refusal, or "" when the change is always allowed."""

    sentence: str
    before: Manifest
    after: Manifest
    says: str = ""


def _short(sentence: str, before: Manifest, after: Manifest, says: str = "") -> Change:
    return Change(sentence, {**SHORT, **before}, {**SHORT, **after}, says)


_OTHER = {"spec": {"containers": [CONTAINER], "nodeSelector": {"gpu": "yes"}}}
_ENV: Manifest = {"runtimeEnv": {"envVars": {"A": "b"}}}
_TRACK: Manifest = {"tasks": [{"name": "first", "image": "busybox", "replicas": 2}]}
_SLOW: Manifest = {"recovery": {"backoff": {"initialSeconds": 5}}}

AFTER_START = [
    Change("the template", TEMPLATE, {"template": _OTHER}, f"spec.template {AFTER}"),
    Change("the template for an image", TEMPLATE, SHORT, f"spec.template {AFTER}"),
    Change("the image", SHORT, {"image": "python"}, f"spec.image {AFTER}"),
    Change("the image for a template", SHORT, TEMPLATE, f"spec.template {AFTER}"),
    _short("the entrypoint", {"entrypoint": "a"}, {"entrypoint": "b"}, f"spec.entrypoint {AFTER}"),
    _short("no entrypoint for one", {}, {"entrypoint": "b"}, f"spec.entrypoint {AFTER}"),
    _short("the command", {"command": ["a"]}, {"command": ["b"]}, f"spec.command {AFTER}"),
    _short("the arguments", {"args": ["a", "b"]}, {"args": ["b", "a"]}, f"spec.args {AFTER}"),
    _short("a variable", {"env": [{"name": "A"}]}, {"env": [{"name": "A", "value": "b"}]}, f"spec.env {AFTER}"),
    _short("the resources", {}, {"resources": {"limits": {"memory": "1Gi"}}}, f"spec.resources {AFTER}"),
    Change("a task", TASKS, _TRACK, f"spec.tasks {AFTER}"),
    _short("the replicas", {"replicas": 2}, {"replicas": 3}, f"spec.replicas {AFTER}"),
    _short("the default replicas", {}, {"replicas": 2}, f"spec.replicas {AFTER}"),
    _short("the runtime environment", _ENV, {"runtimeEnv": {"envVars": {"A": "c"}}}, f"spec.runtimeEnv {AFTER}"),
    _short("the runtime environment for none", _ENV, {}, f"spec.runtimeEnv {AFTER}"),
    _short(
        "the strategy",
        {"recovery": {"strategy": "SameNodeFirst"}},
        {"recovery": {"strategy": "Relaunch"}},
        f"spec.recovery.strategy {AFTER}",
    ),
    _short("the default strategy", {}, {"recovery": {"strategy": "SameNodeFirst"}}, f"spec.recovery.strategy {AFTER}"),
]

ALWAYS = [
    _short("the pool", {"controllerPoolName": "a"}, {"controllerPoolName": "b"}, f"spec.controllerPoolName {_EVER}"),
    _short("the pool for the default one", {"controllerPoolName": "a"}, {}, f"spec.controllerPoolName {_EVER}"),
    _short("who manages the job", {"managedBy": "a.io/b"}, {"managedBy": "a.io/c"}, f"spec.managedBy {_EVER}"),
    _short("us for another controller", {}, {"managedBy": "a.io/c"}, f"spec.managedBy {_EVER}"),
    _short(
        "cancel for false",
        {"cancel": True},
        {"cancel": False},
        "spec.cancel can't be taken back; delete and apply again, or use a new name",
    ),
    _short(
        "cancel for none",
        {"cancel": True},
        {},
        "spec.cancel can't be taken back; delete and apply again, or use a new name",
    ),
]

NEVER = [
    _short("cancel for true", {"cancel": False}, {"cancel": True}),
    _short("suspend to and fro", {"suspend": True}, {"suspend": False}),
    _short("the priority", {"priority": 5}, {"priority": -5}),
    _short("the default pool by its name", {}, {"controllerPoolName": "default"}),
    _short("the default replicas by their number", {}, {"replicas": 1}),
    _short("the default strategy by its name", {}, {"recovery": {"strategy": "Relaunch"}}),
    _short("the number of restarts", {}, {"recovery": {"maxRestartsOnErrors": 3}}),
    _short("the exit codes", {}, {"recovery": {"recoverOnExitCodes": [42]}}),
    _short("the backoff", {}, _SLOW),
    _short("the launch attempts", {}, {"recovery": {"maxLaunchAttempts": 3}}),
    _short("what a lost node means", {}, {"recovery": {"nodeLost": {"policy": "Wait"}}}),
    _short("the timeouts", {}, {"launchTimeoutSeconds": 9, "queueTimeoutSeconds": 9, "activeDeadlineSeconds": 9}),
    _short("how long the object stays", {"ttlSecondsAfterFinished": 0}, {}),
    _short("the user metadata", {"userMetadata": {"team": "a"}}, {"userMetadata": {"team": "b"}}),
    _short(
        "the order of variables",
        {"env": [{"name": "A"}, {"name": "B"}]},
        {"env": [{"name": "B"}, {"name": "A"}]},
    ),
]
