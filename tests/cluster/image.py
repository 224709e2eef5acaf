"""The project's images without an image registry: a Debian with Python, our dependencies, our code; a layer each.

The lower layers are made once for what they are made from; a change of our code makes the top one only.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import tomllib
import venv
from collections.abc import Sequence
from typing import Any, Final

from tests.cluster import debian, versions
from tests.cluster.cache import HERE, REPOSITORY, Cache
from tests.cluster.console import ClusterError, run, say, step
from tests.cluster.store import Blob, Image, Store

DEFAULT_TAG: Final = "dev"
USER: Final = 65532
PACKAGES: Final = ("python3", "ca-certificates")
SITE: Final = f"usr/local/lib/python{versions.PYTHON}/dist-packages"
"""A folder in which that Debian's Python looks by itself."""
UNUSED: Final = ("kubernetes/aio", "*-stubs", "bin")
"""Parts of our dependencies that our program never loads; the first is a third of the whole image."""
_SOURCES: Final = (".c", ".h", ".pxd", ".pyi", ".pyx")
_SCRIPT: Final = "usr/local/bin/managedjobs"
_ENVIRONMENT: Final = [
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "PYTHONUNBUFFERED=1",
    "PYTHONDONTWRITEBYTECODE=1",
    "LANG=C.UTF-8",
]
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def names(tag: str) -> list[str]:
    """The images that are built: ours, and one with a shell and Python for the examples' jobs."""
    return [f"managedjobs:{tag}", f"managedjobs-examples:{tag}"]


def built(cache: Cache, name: str) -> Image | None:
    """The image of this name, if it was built."""
    return Store(cache.images).get(name)


def build(cache: Cache, tag: str = DEFAULT_TAG) -> list[Image]:
    """Builds both images, of what the checkout holds now; nothing is done if that was built before."""
    with cache.lock("image"):
        return _Builder(cache).build(*names(tag))


class _Builder:
    """One build: `root` is the plain system, `stage` a copy of it with our dependencies and then our code."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.store = Store(cache.images)
        self.root = cache.images / "root"
        self.stage = cache.images / "stage"
        self.project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]

    def build(self, name: str, examples: str) -> list[Image]:
        sources, stamp = self._sources(), self.cache.images / "sources.json"
        wanted = {"sources": sources, "names": [name, examples]}
        present = [self.store.get(each) for each in (name, examples)]
        if all(present) and stamp.exists() and json.loads(stamp.read_text()) == wanted:
            say("  images: nothing has changed")
            return [image for image in present if image]
        base = self._base()
        dependencies = self._dependencies(base)
        code = self._code()
        shell = {"User": f"{USER}:{USER}", "Env": _ENVIRONMENT, "WorkingDir": "/", "Cmd": ["/bin/sh"]}
        program = {**shell, "Entrypoint": [f"/{_SCRIPT}"], "Cmd": ["--help"]}
        built = [self._write(name, [base, dependencies, code], program), self._write(examples, [base], shell)]
        self.store.remove_unused([base, dependencies])
        stamp.write_text(json.dumps(wanted))
        return built

    def _base(self) -> Blob:
        key = _digest(versions.DEBIAN, *PACKAGES, debian.recipe(PACKAGES))
        if kept := self._kept("base", key):
            return kept
        debian.bootstrap(self.root, PACKAGES, self.cache.images / "debootstrap.log")
        for file, line in (
            ("passwd", f"nonroot:x:{USER}:{USER}:nonroot:/tmp:/bin/sh"),
            ("group", f"nonroot:x:{USER}:"),
        ):
            path = self.root / "etc" / file
            if line not in path.read_text():
                path.write_text(f"{path.read_text()}{line}\n")
        with step("layer: the system"):
            return self._keep("base", key, self.store.add_layer(self.root, keep_times=True))

    def _dependencies(self, base: Blob) -> Blob:
        pins = (REPOSITORY / "constraints.txt").read_text()
        key = _digest(base.digest, SITE, pins, *UNUSED, *self.project["dependencies"])
        if (kept := self._kept("dependencies", key)) and (self.stage / SITE).exists():
            return kept
        with step("layer: dependencies"):
            shutil.rmtree(self.stage, ignore_errors=True)
            run(["cp", "--archive", "--link", self.root, self.stage])
            pinned = ("--constraint", str(REPOSITORY / "constraints.txt"))
            self._pip(
                "install",
                *_for_that_python(),
                *pinned,
                "--target",
                str(self.stage / SITE),
                *self.project["dependencies"],
            )
            for unused in (path for pattern in UNUSED for path in (self.stage / SITE).glob(pattern)):
                shutil.rmtree(unused)
            for source in (path for path in (self.stage / SITE).rglob("*") if path.suffix in _SOURCES):
                source.unlink()
            self._compile("")
            return self._keep("dependencies", key, self.store.add_layer(self.stage, [SITE]))

    def _code(self) -> Blob:
        package, site = self.project["name"], self.stage / SITE
        with step("layer: our code"):
            for old in (site / package, *site.glob(f"{package}-*.dist-info")):
                shutil.rmtree(old, ignore_errors=True)
            wheels = self.cache.images / "wheels"
            shutil.rmtree(wheels, ignore_errors=True)
            self._pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(REPOSITORY))
            wheel = next(wheels.glob("*.whl"))
            self._pip(
                "install", "--no-deps", "--no-index", "--no-compile", "--upgrade", "--target", str(site), str(wheel)
            )
            shutil.rmtree(site / "bin", ignore_errors=True)
            self._compile(package)
            script = self.stage / _SCRIPT
            script.unlink(missing_ok=True)
            script.write_text(entry_script(self.project["scripts"][package]))
            script.chmod(0o755)
            self._check(package)
            infos = [f"{SITE}/{info.name}" for info in site.glob(f"{package}-*.dist-info")]
            return self.store.add_layer(self.stage, [f"{SITE}/{package}", *infos, _SCRIPT])

    def _compile(self, below: str) -> None:
        """Compiles by the image's own Python; never checked against the sources later, as neither changes."""
        command = ["python3", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
        run(["chroot", self.stage, *command, f"/{SITE}/{below}"])

    def _check(self, package: str) -> None:
        """Imports what the program needs at its start, in the image's own system: a misfit wheel fails here."""
        if (self.stage / SITE / package / "__main__.py").exists():
            run(["chroot", self.stage, "python3", "-B", "-c", f"import {package}.__main__"])

    def _write(self, name: str, layers: Sequence[Blob], config: dict[str, Any]) -> Image:
        return self.store.write(name, layers, config, _ARCHITECTURES[platform.machine()])

    def _pip(self, *args: str) -> None:
        tools = self.cache.images / "tools"
        key = _digest((REPOSITORY / "constraints.txt").read_text(), sys.version)
        stamp = tools / "made-for"
        python = tools / "bin" / "python"
        if not stamp.exists() or stamp.read_text() != key:
            venv.create(tools, clear=True, with_pip=True)
            pinned = ("--constraint", REPOSITORY / "constraints.txt")
            run([python, "-m", "pip", "install", "--quiet", *pinned, "hatchling"])
            stamp.write_text(key)
        environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
        run([python, "-m", "pip", *args, "--quiet"], env=environment)

    def _kept(self, what: str, key: str) -> Blob | None:
        try:
            kept = json.loads((self.cache.images / f"{what}.json").read_text())
            blob = Blob(**kept["blob"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return blob if kept["key"] == key and self.store.path(blob).exists() else None

    def _keep(self, what: str, key: str, blob: Blob) -> Blob:
        (self.cache.images / f"{what}.json").write_text(json.dumps({"key": key, "blob": vars(blob)}))
        return blob

    def _sources(self) -> str:
        files = [REPOSITORY / "pyproject.toml", REPOSITORY / "constraints.txt", REPOSITORY / "README.md"]
        files += [
            path
            for path in sorted((REPOSITORY / "operator").rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        ]
        files += sorted(HERE.glob("*.py"))
        return _digest(*(f"{path}\n{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files))


def entry_script(target: str) -> str:
    """The program that `[project.scripts]` promises, for the image's Python: `package.module:function`."""
    module, _, function = target.partition(":")
    if not module or not function:
        raise ClusterError(f"pyproject.toml: [project.scripts] has {target!r}; it must be `package.module:function`")
    return f"#!/usr/bin/python3\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"


def _for_that_python() -> list[str]:
    """Options by which pip takes wheels for the image's Python and C library, not for the one that runs pip."""
    machine = platform.machine()
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in (36, 35, 34, 31, 28, 27, 17)]
    platforms += [f"manylinux2014_{machine}"]
    options = ["--only-binary=:all:", "--no-compile", "--implementation=cp", f"--python-version={versions.PYTHON}"]
    return [*options, *(f"--platform={each}" for each in platforms)]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
