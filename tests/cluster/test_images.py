"""Images on disk: the same files give the same image, and a node is sent only what it lacks."""

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from tests.cluster import image, store
from tests.cluster.console import ClusterError
from tests.cluster.store import Blob, Image, Store


def tree(root: Path, text: str = "print()") -> Path:
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "a.py").write_text(text)
    (root / "lib" / "link").symlink_to("a.py")
    return root


@pytest.fixture
def images(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def written(images: Store, *layers: Blob) -> Image:
    return images.write("managedjobs:dev", layers, {"User": "65532"}, "amd64")


def test_the_same_files_give_the_same_layer_whenever_they_were_written(images: Store, tmp_path: Path) -> None:
    first, second = tree(tmp_path / "first"), tree(tmp_path / "second")
    os.utime(second / "lib" / "a.py", (1, 1))
    assert images.add_layer(first) == images.add_layer(second)


def test_a_changed_file_gives_another_layer(images: Store, tmp_path: Path) -> None:
    assert images.add_layer(tree(tmp_path / "first")) != images.add_layer(tree(tmp_path / "second", "print(1)"))


def test_times_are_kept_where_compiled_files_are_compared_with_them(images: Store, tmp_path: Path) -> None:
    root = tree(tmp_path / "root")
    os.utime(root / "lib" / "a.py", (1234, 1234))
    with tarfile.open(images.path(images.add_layer(root, keep_times=True))) as archive:
        assert archive.getmember("lib/a.py").mtime == 1234


def test_an_image_is_found_again_by_its_name(images: Store, tmp_path: Path) -> None:
    made = written(images, images.add_layer(tree(tmp_path / "root")))
    assert images.get("managedjobs:dev") == made
    assert images.get("managedjobs:other") is None


def test_an_image_that_lost_a_layer_counts_as_absent(images: Store, tmp_path: Path) -> None:
    made = written(images, images.add_layer(tree(tmp_path / "root")))
    images.path(made.parts[-1]).unlink()
    assert images.get("managedjobs:dev") is None


def test_a_node_that_has_the_lower_layers_is_sent_the_rest(images: Store, tmp_path: Path) -> None:
    lower, upper = images.add_layer(tree(tmp_path / "lower")), images.add_layer(tree(tmp_path / "upper", "print(2)"))
    made, sent = written(images, lower, upper), io.BytesIO()
    images.stream(made, frozenset({lower.digest}), sent)
    with tarfile.open(fileobj=io.BytesIO(sent.getvalue())) as archive:
        names = set(archive.getnames())
        index = json.load(archive.extractfile("index.json") or io.BytesIO())
    digests = {f"sha256:{name.rpartition('/')[2]}" for name in names if name.startswith("blobs/")}
    assert digests == {made.manifest.digest, made.parts[0].digest, upper.digest}
    assert index["manifests"][0]["annotations"]["io.containerd.image.name"] == "docker.io/library/managedjobs:dev"


def test_only_what_no_image_needs_is_removed(images: Store, tmp_path: Path) -> None:
    used, unused = images.add_layer(tree(tmp_path / "used")), images.add_layer(tree(tmp_path / "unused", "print(3)"))
    written(images, used)
    images.remove_unused(besides=())
    assert images.get("managedjobs:dev") is not None
    assert not images.path(unused).exists()


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("managedjobs:dev", "docker.io/library/managedjobs:dev"),
        ("mine/app:1", "docker.io/mine/app:1"),
        ("ghcr.io/mine/app:1", "ghcr.io/mine/app:1"),
        ("localhost:5000/app:1", "localhost:5000/app:1"),
        ("localhost/app:1", "localhost/app:1"),
    ],
)
def test_a_node_knows_an_image_by_its_full_name(name: str, full: str) -> None:
    assert store.reference(name) == full


def test_the_entry_script_calls_what_pyproject_names() -> None:
    assert "from managedjobs.__main__ import main\n\nsys.exit(main())" in image.entry_script(
        "managedjobs.__main__:main"
    )
    with pytest.raises(ClusterError, match=r"package\.module:function"):
        image.entry_script("managedjobs")
