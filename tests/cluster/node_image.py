"""The kind node image without an image registry: Debian by debootstrap, every program from its Go module.

What goes where follows kind's own `images/base/Dockerfile` and `pkg/build/nodeimage`.
"""

import hashlib
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from tests.cluster import debian, processes, programs, versions
from tests.cluster.cache import HERE, Cache
from tests.cluster.console import run, step, wait_until
from tests.cluster.docker import Engine
from tests.cluster.recipes import CONTROL_PLANE, NODE

PACKAGES: Final = (
    *("systemd", "conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod"),
    *(
        "libseccomp2",
        "pigz",
        "bash",
        "ca-certificates",
        "jq",
        "procps",
        "socat",
        "runc",
        "containernetworking-plugins",
    ),
)
_REPOSITORY: Final = "managedjobs/node"
_SERVED_BY_ONE_IMAGE: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd")
_EXECUTABLE: Final = 0o755


def tag() -> str:
    """The image's name, with a digest of what it is made from: another recipe is another image."""
    recipe = hashlib.sha256()
    for file in (Path(__file__), HERE / "versions.py", HERE / "recipes.py", *sorted((HERE / "node").iterdir())):
        recipe.update(file.read_bytes())
    return f"{_REPOSITORY}:{versions.KUBERNETES}-{recipe.hexdigest()[:8]}"


def ensure(engine: Engine, cache: Cache) -> str:
    """The name of the image, made first if the daemon does not hold it."""
    name = tag()
    if engine.has_image(name):
        return name
    found = programs.ensure([*CONTROL_PLANE, *NODE], cache)
    root = cache.node / "root"
    debian.bootstrap(root, PACKAGES, cache.node / "debootstrap.log")
    with step("files of a kind node"):
        _install_files(root, found)
        _enable_services(root)
    with step("images of the control plane"):
        archive = cache.node / "images.tar"
        preloaded = _make_images(engine, root, found, cache)
        engine.docker("save", *preloaded, "-o", archive)
        _preload(root, found, archive, cache)
        archive.unlink()
    with step(f"image {name}"):
        _import(engine, root, name, 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]', "ENV container=docker")
    _remove_older(engine, name)
    return name


def _install_files(root: Path, found: dict[str, Path]) -> None:
    module = json.loads(run(["go", "mod", "download", "-json", f"sigs.k8s.io/kind@{versions.KIND}"], cwd=Path("/")))
    source = Path(module["Dir"]) / "images" / "base" / "files"
    for file in (path for path in source.rglob("*") if path.is_file()):
        inside = file.relative_to(source)
        _put(file, root / inside, _EXECUTABLE if inside.parts[0] in ("kind", "usr") else 0o644)
    for name in ("containerd", "ctr", "containerd-shim-runc-v2", "crictl"):
        _put(found[name], root / "usr/local/bin" / name)
    for name in ("kubeadm", "kubelet", "kubectl"):
        _put(found[name], root / "usr/bin" / name)
    _put(found["runc-wrap"], root / "usr/local/sbin/runc")  # stands before Debian's, /usr/sbin/runc
    for plugin in ("bridge", "host-local", "loopback", "portmap", "ptp"):
        _put(root / "usr/lib/cni" / plugin, root / "opt/cni/bin" / plugin)
    for folder in ("etc/cni/net.d", "etc/kubernetes/manifests", "kind/manifests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    _put(HERE / "node/podnet.sh", root / "kind/bin/podnet.sh")
    _put(HERE / "node/podnet.service", root / "etc/systemd/system/podnet.service", 0o644)
    (root / "kind/version").write_text(versions.KUBERNETES)
    _configure_containerd(root, found["ctr"])


def _configure_containerd(root: Path, ctr: Path) -> None:
    """Base spec and settings that also work on a machine that may not raise limits."""
    spec = json.loads(run([ctr, "oci", "spec"]))
    spec["process"].pop("rlimits", None)
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(spec))
    config = root / "etc/containerd/config.toml"
    config.write_text(config.read_text().replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true"))


def _enable_services(root: Path) -> None:
    system = root / "lib/systemd/system"
    unwanted = [system / "sysinit.target.wants/systemd-tmpfiles-setup.service"]
    for folder, pattern in (
        *((system / f"{target}.target.wants", "*") for target in ("multi-user", "local-fs", "basic")),
        *((system / "sockets.target.wants", pattern) for pattern in ("*udev*", "*initctl*")),
        *((folder, "*") for folder in (root / "etc/systemd/system").glob("*.wants")),
    ):
        unwanted += folder.glob(pattern)
    for file in unwanted:
        file.unlink(missing_ok=True)
    journal = root / "etc/systemd/journald.conf"
    if "ReadKMsg=no" not in journal.read_text():
        journal.write_text(f"{journal.read_text()}\nReadKMsg=no\n")
    init = root / "sbin/init"
    init.unlink(missing_ok=True)
    init.symlink_to("/usr/lib/systemd/systemd")
    services = ("kubelet.service", "containerd.service", "undo-mount-hacks.service", "podnet.service")
    run(["chroot", root, "systemctl", "enable", *services])
    run(["chroot", root, "systemctl", "mask", "systemd-binfmt.service"])  # it would change the machine's kernel


def _make_images(engine: Engine, root: Path, found: dict[str, Path], cache: Cache) -> list[str]:
    """One image with every control-plane program, under all their names; pause and CoreDNS apart."""
    registry = "registry.k8s.io"
    with tempfile.TemporaryDirectory(dir=cache.node) as work:
        control_plane, pause, coredns = (Path(work) / name for name in ("control-plane", "pause", "coredns"))
        for name in _SERVED_BY_ONE_IMAGE:
            _put(found[name], control_plane / "usr/local/bin" / name)
        for name, file in _with_libraries(root, "/usr/sbin/nft").items():  # kube-proxy calls nft
            _put(file, control_plane / name.lstrip("/"))
        (control_plane / "tmp").mkdir()
        _put(found["pause"], pause / "pause")
        _put(found["coredns"], coredns / "coredns")
        first = f"{registry}/kube-apiserver:{versions.KUBERNETES}"
        _import(engine, control_plane, first, "ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin")
        pause_tag, coredns_tag = f"{registry}/pause:3.10", f"{registry}/coredns/coredns:{versions.COREDNS}"
        _import(engine, pause, pause_tag, 'ENTRYPOINT ["/pause"]')
        _import(engine, coredns, coredns_tag, 'ENTRYPOINT ["/coredns"]')
    others = [f"{registry}/{name}:{versions.KUBERNETES}" for name in _SERVED_BY_ONE_IMAGE[1:4]]
    others.append(f"{registry}/etcd:{versions.ETCD.removeprefix('v')}-0")
    for other in others:
        engine.docker("tag", first, other)
    return [first, *others, pause_tag, coredns_tag]


def _with_libraries(root: Path, program: str) -> dict[str, Path]:
    """A program and the libraries it loads: name inside the root file system → file on this machine."""
    names = [program, *re.findall(r"(/\S+)", run(["chroot", root, "ldd", program]))]
    real = run(["chroot", root, "realpath", *names]).split()  # absolute links would lead out of it
    return {name: root / target.lstrip("/") for name, target in zip(names, real, strict=True)}


def _preload(root: Path, found: dict[str, Path], archive: Path, cache: Cache) -> None:
    """Puts images into the store of the node's containerd, content only, as kind does: unpacked on first use."""
    shutil.rmtree(root / "var/lib/containerd", ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache.node) as work:
        socket, config = Path(work) / "containerd.sock", Path(work) / "config.toml"
        disabled = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]
        config.write_text(
            f'version = 2\nroot = "{root}/var/lib/containerd"\nstate = "{work}/state"\n'
            f'disabled_plugins = {json.dumps(disabled)}\n[grpc]\naddress = "{socket}"\n'
        )
        daemon = processes.start([found["containerd"], "-c", config], cache.node / "preload.log", bound=True)
        try:
            wait_until(socket.exists, "containerd for the node's images", 30)
            pinned = ("--label=io.cri-containerd.pinned=pinned", "--all-platforms", "--no-unpack", "--digests")
            run([found["ctr"], "-a", socket, "-n", "k8s.io", "images", "import", *pinned, archive])
        finally:
            processes.stop([daemon], grace=10)
    shutil.rmtree(root / "var/lib/containerd/tmpmounts", ignore_errors=True)


def _import(engine: Engine, folder: Path, name: str, *changes: str) -> None:
    options = " ".join(f"--change '{change}'" for change in changes)
    script = f"set -o pipefail; tar -C '{folder}' -c . | docker import {options} - '{name}'"
    run(["bash", "-c", script], env=engine.environment)


def _remove_older(engine: Engine, name: str) -> None:
    listed = engine.docker("image", "ls", _REPOSITORY, "--format", "{{.Repository}}:{{.Tag}}").split()
    for older in set(listed) - {name}:
        engine.succeeds("rmi", older)  # refused while a cluster still runs on it


def _put(source: Path, target: Path, mode: int = _EXECUTABLE) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)
