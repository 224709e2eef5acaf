"""The CEL rules that judge an object alone: for each one accepted and one refused object, and what is said."""

from dataclasses import dataclass

from tests.crds.objects import CONTAINER, Manifest, job, pool


@dataclass(frozen=True)
class Rule:
    """A rule in words, an object that keeps it, one that breaks it, and the message that says what to write."""

    sentence: str
    accepted: Manifest
    refused: Manifest
    says: str


def _job(sentence: str, accepted: Manifest, refused: Manifest, says: str) -> Rule:
    return Rule(sentence, job(accepted), job(refused), says)


def _task(**spec: object) -> Manifest:
    return {"tasks": [{"name": "train", **spec}]}


def _template(**spec: object) -> Manifest:
    return {"template": {"spec": {"containers": [CONTAINER], **spec}}}


def _env(**runtime: object) -> Manifest:
    return {"image": "x", "runtimeEnv": runtime}


ONE_OF = "spec needs exactly one of template, image (the short form) and tasks"
TASK_ONE_OF = "tasks[] needs exactly one of template and image (the short form)"
NEEDS_IMAGE = (
    "entrypoint, command, args, env and resources go with image (the short form): "
    "set image, or write them into a container of the template"
)
ALONE = "entrypoint is run by /bin/sh -c and excludes command and args; remove either the one or the others"
SCRIPT_ALONE = (
    "runtimeEnv.script is what runs and excludes entrypoint and command; remove either the one or the others"
)
INIT_MAIN = (
    "template.spec.initContainers can't have one named main, which is the container that does the work; "
    "give it another name"
)
RESERVED = "template.spec can't have containers or volumes whose names begin with managedjobs-; give them other names"
ENV_NAME = "runtimeEnv.envVars: a name has letters, digits, '_', '-' and '.', and does not begin with a digit"
WORKING_DIR = (
    "runtimeEnv.workingDir must be one of s3://…, gs://…, https://….zip, git+https://…@REF and package://NAME"
)
SCRIPT = "runtimeEnv.script must be one of s3://…, gs://… and https://…"
PIP = "runtimeEnv.pip needs exactly one of packages (a list) and file (a path in workingDir)"
BACKOFF = "recovery.backoff.maxSeconds (default 300) must be at least initialSeconds (default 60); set both"
METADATA = "spec.userMetadata: a key has 1 to 253 characters"
NO_REPLICAS = "spec.replicas can't be used with tasks; write tasks[].replicas instead"
NO_RUNTIME_ENV = "spec.runtimeEnv can't be used with tasks; write tasks[].runtimeEnv instead"

JOB_RULES = [
    _job("a job says once what runs", {"image": "x"}, {}, ONE_OF),
    _job("a template excludes the short form", _template(), {**_template(), "image": "x"}, ONE_OF),
    _job("tasks exclude a template", _task(image="x"), {**_task(image="x"), **_template()}, ONE_OF),
    _job("tasks exclude the short form", _task(image="x"), {**_task(image="x"), "image": "x"}, ONE_OF),
    _job("a task says what runs", _task(image="x"), _task(), TASK_ONE_OF),
    _job("a task has a template or an image", _task(**_template()), _task(**_template(), image="x"), TASK_ONE_OF),
    *(
        _job(f"{name} goes with image", {"image": "x", name: value}, {**_template(), name: value}, NEEDS_IMAGE)
        for name, value in (
            ("entrypoint", "python train.py"),
            ("command", ["python"]),
            ("args", ["train.py"]),
            ("env", [{"name": "A", "value": "b"}]),
            ("resources", {"limits": {"cpu": 1}}),
        )
    ),
    _job("args of a task go with image", _task(image="x", args=["a"]), _task(**_template(), args=["a"]), NEEDS_IMAGE),
    _job(
        "an entrypoint excludes a command",
        {"image": "x", "command": ["a"], "args": ["b"]},
        {"image": "x", "command": ["a"], "entrypoint": "b"},
        ALONE,
    ),
    _job(
        "an entrypoint excludes arguments",
        {"image": "x", "entrypoint": "a"},
        {"image": "x", "entrypoint": "a", "args": ["b"]},
        ALONE,
    ),
    _job(
        "an entrypoint of a task excludes arguments",
        _task(image="x", entrypoint="a"),
        _task(image="x", entrypoint="a", args=["b"]),
        ALONE,
    ),
    _job(
        "a script may have arguments but no entrypoint",
        {**_env(script="s3://b/run.sh"), "args": ["--fast"]},
        {**_env(script="s3://b/run.sh"), "entrypoint": "a"},
        SCRIPT_ALONE,
    ),
    _job(
        "a script excludes a command",
        _env(script="gs://b/run.sh"),
        {**_env(script="gs://b/run.sh"), "command": ["a"]},
        SCRIPT_ALONE,
    ),
    _job(
        "a pipeline has replicas per task",
        _task(image="x", replicas=2),
        {**_task(image="x"), "replicas": 2},
        NO_REPLICAS,
    ),
    _job(
        "a pipeline has runtime environments per task",
        _task(image="x", runtimeEnv={"envVars": {"A": "b"}}),
        {**_task(image="x"), "runtimeEnv": {"envVars": {"A": "b"}}},
        NO_RUNTIME_ENV,
    ),
    _job(
        "the main container is no init container",
        _template(initContainers=[{"name": "prepare", "image": "x"}]),
        _template(containers=[{"name": "work", "image": "x"}], initContainers=[{"name": "main", "image": "x"}]),
        INIT_MAIN,
    ),
    _job(
        "the main container of a task is no init container",
        _task(**_template(initContainers=[{"name": "prepare", "image": "x"}])),
        _task(**_template(initContainers=[{"name": "main", "image": "x"}])),
        INIT_MAIN,
    ),
    _job(
        "names of containers that begin with managedjobs- are kept free",
        _template(containers=[{"name": "my-managedjobs", "image": "x"}]),
        _template(containers=[{"name": "managedjobs-main", "image": "x"}]),
        RESERVED,
    ),
    _job(
        "names of init containers that begin with managedjobs- are kept free",
        _template(initContainers=[{"name": "managedjobs", "image": "x"}]),
        _template(initContainers=[{"name": "managedjobs-fetch", "image": "x"}]),
        RESERVED,
    ),
    _job(
        "names of volumes that begin with managedjobs- are kept free",
        _template(volumes=[{"name": "data", "emptyDir": {}}]),
        _template(volumes=[{"name": "managedjobs-files", "emptyDir": {}}]),
        RESERVED,
    ),
    _job("an environment variable has a name", _env(envVars={"_A-b.1": "x"}), _env(envVars={"1A": "x"}), ENV_NAME),
    _job("no name of a variable has a blank", _env(envVars={"A": "x y"}), _env(envVars={"A b": "x"}), ENV_NAME),
    _job(
        "the variables of a task have names",
        _task(image="x", runtimeEnv={"envVars": {"A": "x"}}),
        _task(image="x", runtimeEnv={"envVars": {"=": "x"}}),
        ENV_NAME,
    ),
    *(
        _job(
            f"a working directory may be {good} but not {bad}",
            _env(workingDir=good),
            _env(workingDir=bad),
            WORKING_DIR,
        )
        for good, bad in (
            ("s3://bucket/code.zip", "s3:/bucket/code.zip"),
            ("gs://bucket/code/", "gcs://bucket/code/"),
            ("https://example.com/code.zip", "https://example.com/code.tar"),
            ("https://example.com/code.zip?token=1", "http://example.com/code.zip"),
            ("git+https://example.com/me/code.git@v1", "git+https://example.com/me/code.git"),
            ("package://4f2a.zip", "./code"),
        )
    ),
    _job("a script is remote", _env(script="https://example.com/run.sh"), _env(script="run.sh"), SCRIPT),
    _job("packages for pip are a list or a file", _env(pip={"file": "requirements.txt"}), _env(pip={}), PIP),
    _job(
        "packages for pip are not both a list and a file",
        _env(pip={"packages": ["torch==2.7.0"]}),
        _env(pip={"packages": ["torch"], "file": "requirements.txt"}),
        PIP,
    ),
    _job(
        "the longest wait is no shorter than the first",
        {"image": "x", "recovery": {"backoff": {"initialSeconds": 600, "maxSeconds": 600}}},
        {"image": "x", "recovery": {"backoff": {"initialSeconds": 600, "maxSeconds": 599}}},
        BACKOFF,
    ),
    _job(
        "the longest wait is compared with defaults too",
        {"image": "x", "recovery": {"backoff": {"initialSeconds": 300}}},
        {"image": "x", "recovery": {"backoff": {"initialSeconds": 301}}},
        BACKOFF,
    ),
    _job(
        "a key of user metadata has a length",
        {"image": "x", "userMetadata": {"k" * 253: "v"}},
        {"image": "x", "userMetadata": {"k" * 254: "v"}},
        METADATA,
    ),
    _job(
        "a key of user metadata is not empty",
        {"image": "x", "userMetadata": {"Any key, even this one": ""}},
        {"image": "x", "userMetadata": {"": "v"}},
        METADATA,
    ),
]

_MEMORY = "spec.memoryPerJob must be greater than 0, such as 350Mi"
_CPU = "spec.capacity.cpu must be greater than 0, such as 2 or 1500m"
_BYTES = "spec.capacity.memory must be greater than 0, such as 7700Mi"


def _capacity(cpu: object, memory: object) -> Manifest:
    return pool({"capacity": {"cpu": cpu, "memory": memory}})


POOL_RULES = [
    Rule(
        "memory per job in a unit is positive", pool({"memoryPerJob": "1Ki"}), pool({"memoryPerJob": "0Mi"}), _MEMORY
    ),
    Rule("memory per job in bytes is positive", pool({"memoryPerJob": 1}), pool({"memoryPerJob": 0}), _MEMORY),
    Rule("memory per job is not negative", pool({"memoryPerJob": "350M"}), pool({"memoryPerJob": "-350M"}), _MEMORY),
    Rule("the CPUs of a budget are positive", _capacity("500m", "1Gi"), _capacity("0m", "1Gi"), _CPU),
    Rule("a whole number of CPUs is positive", _capacity(1, "1Gi"), _capacity(0, "1Gi"), _CPU),
    Rule("the memory of a budget is positive", _capacity(1, "1Gi"), _capacity(1, "0"), _BYTES),
]

_JOB_NAME = (
    "metadata.name must be at most 50 characters: lower-case letters, digits and '-', "
    "beginning with a letter and ending with a letter or digit"
)
_POOL_NAME = (
    "metadata.name must be at most 63 characters: lower-case letters, digits and '-', "
    "beginning and ending with a letter or digit"
)
_SHORT: Manifest = {"image": "x"}

NAMES = [
    Rule("a job's name has at most 50 characters", job(_SHORT, "n" * 50), job(_SHORT, "n" * 51), _JOB_NAME),
    Rule("a job's name has no dots", job(_SHORT, "train-1"), job(_SHORT, "train.1"), _JOB_NAME),
    Rule("a job's name begins with a letter", job(_SHORT, "t1"), job(_SHORT, "1t"), _JOB_NAME),
    Rule("a pool's name has at most 63 characters", pool({}, "p" * 63), pool({}, "p" * 64), _POOL_NAME),
    Rule("a pool's name has no dots", pool({}, "1-gpu"), pool({}, "gpu.1"), _POOL_NAME),
]
