"""Nodes and connections that fail: what is unknown is not gone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from managedjobs.kube.resources import NODES
from tests.controller.stage import Object, Stage, exit_code

pytestmark = pytest.mark.controlplane


async def test_a_pod_on_a_silent_node_is_lost_after_the_timeout_and_its_name_becomes_free(stage: Stage):
    node = f"node-{stage.name}"
    await stage.submit(recovery={"nodeLost": {"timeoutSeconds": 1}})
    stage.start()
    [pod] = await stage.until_pods(1)
    await create_node(stage, node)
    await stage.bind(pod, node)
    [pod] = await stage.run_pods()
    await stage.until_phase("Running")
    try:
        await stage.silence_node(node, pod)
        waiting = await stage.until_state("AliveWaiting")
        assert waiting["attempts"][0]["ending"] == "NodeLost"
        assert f"pod 0 was lost on node {node}" in waiting["description"]
        await stage.until_no_child()
        assert await stage.pods() == []
    finally:
        await stage.client.delete(NODES, None, node)


async def test_a_log_that_can_not_be_read_leaves_the_description_without_a_last_line(stage: Stage):
    container = {"name": "main", "image": "busybox", "terminationMessagePolicy": "File"}
    await stage.submit(template={"spec": {"containers": [container]}})
    controller = stage.start()
    [pod] = await stage.run_pods()
    await stage.until_phase("Running")
    await stage.end_pod(pod, 3)
    failed = await stage.until_phase("Failed")
    assert failed["description"] == "Failed: exit code 3 in pod 0, attempt 1."
    assert await exit_code(controller) == 0


async def test_while_the_api_server_can_not_be_reached_nothing_is_concluded(
    stage: Stage, serving: Path, tmp_path: Path
):
    async with Wire(serving) as wire:
        await stage.submit()
        stage.kubeconfig = wire.kubeconfig(tmp_path)
        controller = stage.start()
        [pod] = await stage.run_pods()
        await stage.until_phase("Running")
        async with wire.cut():
            await stage.end_pod(pod, 0)
            await stage.until_there_child(lambda child: child["status"].get("succeeded"))
            assert not controller.done()
            assert (await stage.job())["status"]["phase"] == "Running"
        done = await stage.until_phase("Succeeded")
        assert done["attemptCount"] == 1
        assert await exit_code(controller) == 0


async def create_node(stage: Stage, name: str) -> None:
    """A node whose kubelet the test plays."""
    body: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": True}}
    await stage.client.create(NODES, None, body, dict)


class Wire:
    """A connection to the API server that can be cut."""

    def __init__(self, kubeconfig: Path) -> None:
        self._config = yaml.safe_load(kubeconfig.read_text())
        self._server = self._config["clusters"][0]["cluster"]["server"]
        self._listener: asyncio.Server | None = None
        self._port = 0
        self._ends: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "Wire":
        """Begin to listen."""
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all."""
        self._close()

    def kubeconfig(self, directory: Path) -> Path:
        """A kubeconfig that leads through this wire."""
        self._config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._port}"
        path = directory / "kubeconfig"
        path.write_text(yaml.safe_dump(self._config))
        return path

    @contextlib.asynccontextmanager
    async def cut(self) -> AsyncIterator[None]:
        """No connection lives and none is made within this block."""
        self._close()
        yield
        await self._listen()

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._connect, "127.0.0.1", self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for end in self._ends:
            end.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = int(self._server.rsplit(":", 1)[1])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        self._ends |= {writer, far_writer}
        await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        self._ends -= {writer, far_writer}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
