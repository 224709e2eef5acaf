"""`make demo`: a kind cluster, the chart, example jobs, and what a user sees of them."""

from __future__ import annotations

import json
import os
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.demo.screen import ChangePrinter, paint, say, step
from tests.support.jobwatch import FINISHED, JobWatch, ManagedJob, phase_of

ROOT = Path(__file__).resolve().parents[2]
JOBS = Path(__file__).parent / "jobs"
IMAGE = "managedjobs:dev"
RELEASE_NAMESPACE = "managedjobs-system"
NAMESPACE = "demo"
BATCH = 8


def main() -> int:
    """Run the demo; 0 when every example ended as it should."""
    started = time.monotonic()
    with step("A kind cluster with two workers"):
        cluster("kind", "up", "--workers", "2")
    kubeconfig = cluster("kubeconfig", capture=True).strip()
    os.environ["KUBECONFIG"] = kubeconfig
    kubectl, helm = (cluster("programs", name, capture=True).strip() for name in ("kubectl", "helm"))
    with step("The image, built and loaded into the nodes"):
        cluster("image")
        cluster("load-image")
    with step("helm install"):
        install(helm)
    failure = ""
    with step("Example jobs"):
        try:
            show_jobs(kubectl, kubeconfig)
        except (AssertionError, SystemExit) as error:
            failure = str(error)
    if failure:
        say(paint(f"\nNot all examples went as they should: {failure}", "31"))
    say(f"\n{paint('The demo took', '1')} {time.monotonic() - started:.0f} s. The cluster is up. Try:")
    say(f"  export KUBECONFIG={kubeconfig} PATH={Path(kubectl).parent}:$PATH")
    for line in (
        f"kubectl get mj -n {NAMESPACE}",
        f"kubectl describe managedjob train -n {NAMESPACE}",
        f"kubectl logs -n {NAMESPACE} job/hello",
        "kubectl explain mj.spec",
        "kubectl get cpool",
        f"kubectl logs -n {RELEASE_NAMESPACE} deploy/managedjobs-operator",
        "make demo-down",
    ):
        say(f"  {paint(line, '36')}")
    return 1 if failure else 0


def install(helm: str) -> None:
    """Install or upgrade the chart, with the image that was just built."""
    run(
        helm, "upgrade", "--install", "managedjobs", str(ROOT / "charts" / "managedjobs"),
        "--namespace", RELEASE_NAMESPACE, "--create-namespace", "--wait", "--timeout", "180s",
        "--set", "image.repository=managedjobs,image.tag=dev,image.pullPolicy=IfNotPresent",
    )  # fmt: skip


def show_jobs(kubectl: str, kubeconfig: str) -> None:
    """Apply the examples, follow them to their ends, and show them as a user would look at them."""
    kube = kubectl_runner(kubectl)
    if kube("get", "namespace", NAMESPACE, check=False):
        kube("delete", "managedjobs", "--all", "-n", NAMESPACE, "--wait", "--timeout=60s")
    else:
        kube("create", "namespace", NAMESPACE)
    printer = ChangePrinter()
    with JobWatch(kubectl, kubeconfig, NAMESPACE, on_change=printer) as watch:
        kube("apply", "-f", "-", text=read("pool.yaml"))
        for name in ("hello.yaml", "broken.yaml", "train.yaml"):
            kube("apply", "-n", NAMESPACE, "-f", "-", text=read(name))
        batch = "\n---\n".join(read("batch.yaml", INDEX=str(index)) for index in range(1, BATCH + 1))
        kube("apply", "-n", NAMESPACE, "-f", "-", text=batch)
        watch.until("some jobs of the batch wait for a slot and say so", waiting_with_a_place, seconds=180)
        printer.silent = True
        show(kubectl, "get", "mj", "-n", NAMESPACE)
        waiting = next(name for name, job in watch.jobs.items() if has_a_place(job))
        show(kubectl, "describe", "managedjob", waiting, "-n", NAMESPACE)
        printer.silent = False
        watch.until_phase("train", "Running", seconds=300)
        say(paint("  now a pod of `train` is deleted, as if its node had been taken away", "33"))
        show(kubectl, "delete", "pod", "-n", NAMESPACE, "--wait=false",
             "-l", "managedjobs.dev/job-name=train,batch.kubernetes.io/job-completion-index=1")  # fmt: skip
        watch.until("all jobs are finished", all_finished, seconds=600)
        printer.silent = True
        check_outcomes(watch.jobs)
    show(kubectl, "get", "mj", "-n", NAMESPACE)
    show(kubectl, "describe", "managedjob", "train", "-n", NAMESPACE)
    show(kubectl, "describe", "managedjob", "broken", "-n", NAMESPACE)
    show(kubectl, "logs", "-n", NAMESPACE, "job/hello")
    show(kubectl, "logs", "-n", NAMESPACE, "job/broken")
    show(kubectl, "get", "cpool")


def has_a_place(job: ManagedJob) -> bool:
    """Whether a job waits in line with a place and a named limit."""
    status = job.get("status", {})
    return status.get("reason") in ("WaitingForRunSlot", "WaitingForLaunchSlot") and "position" in status["schedule"]


def waiting_with_a_place(jobs: dict[str, ManagedJob]) -> bool:
    """Whether at least two jobs wait with their place."""
    return sum(has_a_place(job) for job in jobs.values()) > 1


def all_finished(jobs: dict[str, ManagedJob]) -> bool:
    """Whether every example has its outcome."""
    return len(jobs) == BATCH + 3 and all(phase_of(job) in FINISHED for job in jobs.values())


def check_outcomes(jobs: dict[str, ManagedJob]) -> None:
    """Every example ended as it should; SystemExit says which did not."""
    wanted: dict[str, Callable[[ManagedJob], bool]] = {
        "hello": lambda job: phase_of(job) == "Succeeded",
        "broken": lambda job: phase_of(job) == "Failed" and job["status"]["exitCode"] == 1,
        "train": lambda job: phase_of(job) == "Succeeded" and job["status"]["recoveryCount"] == 1,
    } | {f"batch-{index}": lambda job: phase_of(job) == "Succeeded" for index in range(1, BATCH + 1)}
    wrong = [name for name, good in wanted.items() if not good(jobs[name])]
    if wrong:
        shown = json.dumps({name: jobs[name]["status"] for name in wrong}, indent=2)
        raise SystemExit(f"these examples did not end as they should: {', '.join(wrong)}\n{shown}")


def read(name: str, **values: str) -> str:
    """An example job with its blanks filled in."""
    return string.Template((JOBS / name).read_text()).safe_substitute(IMAGE=IMAGE, **values)


def cluster(*args: str, capture: bool = False) -> str:
    """Call the cluster tool; its progress goes to the terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster", *args],
        cwd=ROOT,
        stdout=subprocess.PIPE if capture else None,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout or ""


def run(*command: str) -> None:
    """Run a command with its output on the terminal; SystemExit when it fails."""
    code = subprocess.run(command, check=False).returncode
    if code:
        raise SystemExit(f"failed with exit code {code}: {' '.join(command)}")


def show(kubectl: str, *args: str) -> None:
    """Run a kubectl command as a user would, with the line that was typed above it."""
    say("\n" + paint(f"$ kubectl {' '.join(args)}", "36"))
    run(kubectl, *args)


def kubectl_runner(kubectl: str) -> Callable[..., bool]:
    """A quiet kubectl for the demo's own steps."""

    def call(*args: str, text: str | None = None, check: bool = True) -> bool:
        done = subprocess.run([kubectl, *args], input=text, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise SystemExit(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.returncode == 0

    return call


if __name__ == "__main__":
    sys.exit(main())
