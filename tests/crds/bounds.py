"""The bounds of the fields that people write, each with a value at it and one past it."""

from dataclasses import dataclass, field

from tests.crds.objects import SHORT, TASKS, Manifest


@dataclass(frozen=True)
class Bound:
    """One keyword of the schema at one field: `at` is accepted there, `past` is refused."""

    path: str
    keyword: str
    at: object
    past: object
    base: Manifest = field(default_factory=lambda: SHORT)

    @property
    def sentence(self) -> str:
        """The id of the test case."""
        return f"{self.path} keeps its {self.keyword}"


def _text(path: str, least: int, most: int, base: Manifest = SHORT) -> list[Bound]:
    longest = Bound(path, "maxLength", "x" * most, "x" * (most + 1), base)
    return [Bound(path, "minLength", "x" * least, "", base), longest] if least else [longest]


def _number(path: str, least: float, most: float | None = None, base: Manifest = SHORT) -> list[Bound]:
    bounds = [Bound(path, "minimum", least, least - 1, base)]
    return bounds if most is None else [*bounds, Bound(path, "maximum", most, most + 1, base)]


def _one_of(path: str, *words: str) -> list[Bound]:
    return [Bound(path, "enum", word, "Sometimes") for word in words]


def _keys(count: int) -> Manifest:
    return {f"k{n}": "v" for n in range(count)}


WITH_KEY: Manifest = {"image": "busybox", "runtimeEnv": {"inheritFrom": [{"name": "base"}]}}
IMPATIENT: Manifest = {"image": "busybox", "recovery": {"backoff": {"initialSeconds": 1}}}
PATIENT: Manifest = {"image": "busybox", "recovery": {"backoff": {"maxSeconds": 86400}}}
ENV = "runtimeEnv"
BACKOFF = "recovery.backoff"
DIGEST = "s3://" + "x" * 2043

JOB_BOUNDS = [
    *_text("image", 1, 1024),
    *_text("entrypoint", 1, 131072),
    Bound("command", "maxItems", ["x"] * 1024, ["x"] * 1025),
    *_text("command[]", 0, 131072),
    Bound("args", "maxItems", ["x"] * 1024, ["x"] * 1025),
    *_text("args[]", 0, 131072),
    *_number("replicas", 1, 10000),
    Bound(f"{ENV}.envVars", "maxProperties", _keys(256), _keys(257)),
    Bound(f"{ENV}.envVars.*", "maxLength", "x" * 131072, "x" * 131073),
    Bound(f"{ENV}.workingDir", "minLength", "s3://bucket", ""),
    Bound(f"{ENV}.workingDir", "maxLength", DIGEST, DIGEST + "x"),
    Bound(f"{ENV}.script", "minLength", "s3://bucket/run.sh", ""),
    Bound(f"{ENV}.script", "maxLength", DIGEST, DIGEST + "x"),
    Bound(f"{ENV}.pip.packages", "minItems", ["torch==2.7.0"], []),
    Bound(f"{ENV}.pip.packages", "maxItems", ["x"] * 256, ["x"] * 257),
    *_text(f"{ENV}.pip.packages[]", 1, 1024),
    *_text(f"{ENV}.pip.file", 1, 1024),
    *_text(f"{ENV}.credentialsSecretName", 0, 253),
    Bound(f"{ENV}.credentialsSecretName", "pattern", "team.s3-keys", "S3_keys"),
    Bound(f"{ENV}.inheritFrom", "maxItems", [{"name": "base"}] * 16, [{"name": "base"}] * 17),
    Bound(f"{ENV}.inheritFrom[]", "required", {"name": "base"}, {"key": "gpu"}),
    *_text(f"{ENV}.inheritFrom[].name", 0, 253),
    Bound(f"{ENV}.inheritFrom[].name", "pattern", "base.env-1", "-base"),
    *_text(f"{ENV}.inheritFrom[].key", 1, 253, WITH_KEY),
    *_one_of(f"{ENV}.onConflict", "Error", "Override"),
    Bound("tasks", "minItems", [{"name": "a", "image": "x"}], [], TASKS),
    Bound(
        "tasks",
        "maxItems",
        [{"name": f"t{n}", "image": "x"} for n in range(32)],
        [{"name": f"t{n}", "image": "x"} for n in range(33)],
        TASKS,
    ),
    Bound(
        "tasks",
        "x-kubernetes-list-type",
        [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}],
        [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}],
        TASKS,
    ),
    Bound("tasks[]", "required", {"name": "a", "image": "x"}, {"image": "x"}, TASKS),
    *_text("tasks[].name", 0, 63, TASKS),
    Bound("tasks[].name", "pattern", "load-1", "Load_1", TASKS),
    *_one_of("recovery.strategy", "Relaunch", "SameNodeFirst"),
    *_number("recovery.maxRestartsOnErrors", 0),
    Bound("recovery.recoverOnExitCodes", "maxItems", list(range(1, 256)), [*range(1, 256), 1]),
    Bound("recovery.recoverOnExitCodes", "x-kubernetes-list-type", [1, 2], [1, 1]),
    *_number("recovery.recoverOnExitCodes[]", 1, 255),
    *_number(f"{BACKOFF}.initialSeconds", 1, 86400, PATIENT),
    *_number(f"{BACKOFF}.factorPercent", 100, 1000),
    *_number(f"{BACKOFF}.maxSeconds", 1, 86400, IMPATIENT),
    *_number(f"{BACKOFF}.jitterPercent", 0, 100),
    *_number("recovery.maxLaunchAttempts", 1),
    *_number("recovery.nodeLost.timeoutSeconds", 0, 86400),
    *_one_of("recovery.nodeLost.policy", "Relaunch", "Wait"),
    Bound("userMetadata", "maxProperties", _keys(64), _keys(65)),
    Bound("userMetadata.*", "maxLength", "x" * 1024, "x" * 1025),
    *_number("priority", -1000, 1000),
    *_text("controllerPoolName", 1, 63),
    Bound("controllerPoolName", "pattern", "gpu-team", "gpu.team"),
    *_number("launchTimeoutSeconds", 1),
    *_number("queueTimeoutSeconds", 1),
    *_number("activeDeadlineSeconds", 1),
    *_number("ttlSecondsAfterFinished", 0),
    Bound("managedBy", "minLength", "a/b", ""),
    Bound("managedBy", "maxLength", "a/" + "b" * 61, "a/" + "b" * 62),
    Bound("managedBy", "pattern", "example.com/controller", "controller"),
]

_BUDGET: Manifest = {"capacity": {"cpu": 2, "memory": "7700Mi"}}
POOL_BOUNDS = [
    Bound("nodeSelector", "maxProperties", _keys(64), _keys(65), {}),
    Bound("nodeSelector.*", "maxLength", "x" * 63, "x" * 64, {}),
    Bound("tolerations", "maxItems", [{"key": "a"}] * 64, [{"key": "a"}] * 65, {}),
    Bound("launchesPerCPU", "minimum", 0.001, -0.5, {}),
    Bound("launchesPerCPU", "exclusiveMinimum", 0.5, 0, {}),
    Bound("launchesPerCPU", "maximum", 1000, 1001, {}),
    Bound("memoryPerJob", "maxLength", "0" * 30 + "1G", "0" * 31 + "1G", {}),
    *_number("podsReservedPerNode", 0, 10000, {}),
    *_number("maxLaunching", 1, None, {}),
    *_number("maxRunning", 1, None, {}),
    *_number("maxLaunchingPerNamespace", 1, None, {}),
    *_number("maxRunningPerNamespace", 1, None, {}),
    Bound("capacity", "required", {"cpu": "1500m", "memory": "1Gi"}, {"cpu": "1500m"}, {}),
    Bound("capacity.cpu", "maxLength", "0" * 31 + "1", "0" * 32 + "1", _BUDGET),
    Bound("capacity.memory", "maxLength", "0" * 30 + "1G", "0" * 31 + "1G", _BUDGET),
]
