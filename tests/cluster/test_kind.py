"""The kind cluster and the images on it: real pods, names, logs, endings."""

from typing import Any

import pytest

from tests.support.cluster_fixtures import Kubectl

pytestmark = [pytest.mark.kind, pytest.mark.usefixtures("kind_image")]

EXAMPLES = "managedjobs-examples:dev"
OURS = "managedjobs:dev"
RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(name: str, image: str, command: list[str], memory: str = "256Mi") -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": command, "securityContext": RESTRICTED}
    container["resources"] = {"limits": {"memory": memory}, "requests": {"cpu": "10m"}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def ended(kubectl: Kubectl, namespace: str, name: str, phase: str) -> str:
    """The log of a pod that ends in this phase."""
    kubectl("wait", f"--for=jsonpath={{.status.phase}}={phase}", f"pod/{name}", "-n", namespace, "--timeout=60s")
    return kubectl("logs", name, "-n", namespace).stdout


def test_a_job_in_the_restricted_profile_has_a_shell_and_python(kubectl: Kubectl, namespace: str) -> None:
    kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    command = ["/bin/sh", "-c", "id -u; python3 -c 'import asyncio, ssl; print(\"from python\")'"]
    kubectl.apply(pod("work", EXAMPLES, command), namespace=namespace)
    assert ended(kubectl, namespace, "work", "Succeeded").split("\n") == ["65532", "from python", ""]


def test_pods_find_services_by_name_and_reach_them(kubectl: Kubectl, namespace: str) -> None:
    ask = "import socket; socket.create_connection(('kubernetes.default.svc', 443), 10); print('reached')"
    kubectl.apply(pod("work", EXAMPLES, ["python3", "-c", ask]), namespace=namespace)
    assert ended(kubectl, namespace, "work", "Succeeded") == "reached\n"


def test_pods_on_different_nodes_reach_each_other(kubectl: Kubectl, namespace: str) -> None:
    nodes = [node["metadata"]["name"] for node in kubectl.get("nodes")["items"]]
    listen = (
        "import http.server; http.server.HTTPServer(('', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()"
    )
    server = pod("server", EXAMPLES, ["python3", "-c", listen])
    server["spec"]["nodeName"] = nodes[0]
    kubectl.apply(server, namespace=namespace)
    kubectl("wait", "--for=condition=Ready", "pod/server", "-n", namespace, "--timeout=60s")
    address = kubectl.get("pod", "server", "-n", namespace)["status"]["podIP"]
    ask = (
        "import socket\n"
        "while True:\n"
        f"    try: socket.create_connection(('{address}', 8000), 5); print('reached'); break\n"
        "    except ConnectionRefusedError: pass\n"
    )
    client = pod("client", EXAMPLES, ["python3", "-c", ask])
    client["spec"]["nodeName"] = nodes[-1]
    kubectl.apply(client, namespace=namespace)
    assert ended(kubectl, namespace, "client", "Succeeded") == "reached\n"


def test_a_pod_that_uses_too_much_memory_is_killed(kubectl: Kubectl, namespace: str) -> None:
    command = ["python3", "-uc", "print('start'); waste = bytearray(400 << 20); print('not reached')"]
    kubectl.apply(pod("work", EXAMPLES, command, memory="64Mi"), namespace=namespace)
    assert ended(kubectl, namespace, "work", "Failed") == "start\n"
    state = kubectl.get("pod", "work", "-n", namespace)["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 137


def test_our_image_starts_on_a_file_system_that_it_cannot_write_to(kubectl: Kubectl, namespace: str) -> None:
    work = pod("work", OURS, [])
    del work["spec"]["containers"][0]["command"]
    work["spec"]["containers"][0]["args"] = ["--help"]
    kubectl.apply(work, namespace=namespace)
    assert "operator" in ended(kubectl, namespace, "work", "Succeeded")


def test_our_image_holds_its_code_compiled(kubectl: Kubectl, namespace: str) -> None:
    check = (
        "import importlib.util, pathlib, aiohttp, managedjobs.core as core\n"
        "for module in (aiohttp, core):\n"
        "    source = pathlib.Path(module.__file__)\n"
        "    assert pathlib.Path(importlib.util.cache_from_source(source)).exists(), source\n"
        "print('compiled')\n"
    )
    kubectl.apply(pod("work", OURS, ["python3", "-c", check]), namespace=namespace)
    assert ended(kubectl, namespace, "work", "Succeeded") == "compiled\n"
