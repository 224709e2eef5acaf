"""`python3 -m tests.cluster VERB`: real clusters and images on this machine. Verbs can be repeated at any time."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster import building, controlplane, doctor, image, kind, kwok, loading, packages, programs
from tests.cluster.cache import Cache
from tests.cluster.console import ClusterError, duration, say
from tests.cluster.kind import Cluster
from tests.cluster.recipes import RECIPES


def main() -> int:
    """Runs the verb that the command line names; what other programs want to read goes to standard output."""
    arguments = _parser().parse_args()
    action: Callable[[argparse.Namespace, Cache], None] = arguments.action
    start = time.monotonic()
    try:
        action(arguments, Cache.default())
    except ClusterError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    if not arguments.quiet:
        say(f"done in {duration(time.monotonic() - start)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m tests.cluster", description=__doc__)
    parser.set_defaults(quiet=False)
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    def verb(name: str, action: Callable[[argparse.Namespace, Cache], None], text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text)
        added.set_defaults(action=action)
        return added

    verb("doctor", lambda _, cache: doctor.report(cache), "say what is there, what is missing, what will be built")
    verb("packages", lambda _a, _c: packages.install(), "install the Debian packages that are missing")
    added = verb("programs", _programs, "find or build programs, and print their paths")
    added.add_argument("names", nargs="+", metavar="NAME", help=", ".join(RECIPES))

    added = verb("control-plane", _control_plane, "a real control plane without nodes")
    added.add_argument("what", choices=["up", "down"])
    added.add_argument("--dir", type=Path, help="where it lives (default: one place in the cache)")
    added.add_argument("--port", type=int, help="of its API server (default: a free one)")

    added = verb("kwok", _kwok, "fake nodes for a control plane")
    added.add_argument("what", choices=["up", "down"])
    added.add_argument("--kubeconfig", type=Path, help="of the control plane (default: the one of `control-plane up`)")
    added.add_argument("--nodes", type=int, default=3)

    added = verb("kind", _kind, "a kind cluster with real pods")
    added.add_argument("what", choices=["up", "down"])
    added.add_argument("--workers", type=int, default=kind.DEFAULT_WORKERS)
    added.add_argument("--name", default=kind.DEFAULT_NAME)

    added = verb("kubeconfig", _kubeconfig, "print the path of the kind cluster's kubeconfig")
    added.add_argument("--name", default=kind.DEFAULT_NAME)
    added.set_defaults(quiet=True)

    added = verb("image", _image, "build the images managedjobs and managedjobs-examples")
    added.add_argument("--tag", default=image.DEFAULT_TAG)

    added = verb("load-image", _load_image, "load images into the kind cluster: ours, or others that Docker holds")
    added.add_argument("images", nargs="*", metavar="IMAGE", help="default: both of ours")
    added.add_argument("--tag", default=image.DEFAULT_TAG, help="of ours")
    added.add_argument("--name", default=kind.DEFAULT_NAME)
    return parser


def _programs(arguments: argparse.Namespace, cache: Cache) -> None:
    for path in programs.ensure(arguments.names, cache).values():
        print(path)


def _control_plane(arguments: argparse.Namespace, cache: Cache) -> None:
    directory = (arguments.dir or controlplane.default_directory(cache)).absolute()
    if arguments.what == "up":
        controlplane.sweep(cache)
        plane = controlplane.up(directory, arguments.port)
        say(f"  control plane at {plane.server}")
        print(plane.kubeconfig)
    else:
        kwok.down(directory / "kubeconfig")
        say("  control plane removed" if controlplane.down(directory) else "  there is no control plane")


def _kwok(arguments: argparse.Namespace, cache: Cache) -> None:
    kubeconfig = (arguments.kubeconfig or controlplane.default_directory(cache) / "kubeconfig").absolute()
    if not kubeconfig.exists():
        raise ClusterError(f"{kubeconfig} does not exist; start a control plane first (`control-plane up`)")
    if arguments.what == "up":
        kwok.up(kubeconfig)
        say(f"  fake nodes ready: {', '.join(kwok.add_nodes(kubeconfig, arguments.nodes))}")
    else:
        say("  kwok stopped" if kwok.down(kubeconfig) else "  kwok does not run")


def _kind(arguments: argparse.Namespace, cache: Cache) -> None:
    cluster = Cluster(arguments.name, cache)
    if arguments.what == "up":
        print(cluster.up(arguments.workers))
    else:
        cluster.down()


def _kubeconfig(arguments: argparse.Namespace, cache: Cache) -> None:
    path = Cluster(arguments.name, cache).kubeconfig
    if not path.exists():
        raise ClusterError(f"kind cluster {arguments.name} is not up (python3 -m tests.cluster kind up)")
    print(path)


def _image(arguments: argparse.Namespace, cache: Cache) -> None:
    print(*building.build(cache, arguments.tag), sep="\n")


def _load_image(arguments: argparse.Namespace, cache: Cache) -> None:
    loading.load(Cluster(arguments.name, cache), arguments.images or image.names(arguments.tag))


if __name__ == "__main__":
    sys.exit(main())
