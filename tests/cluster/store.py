"""Container images on disk, without any daemon: layers, configuration, manifest by digest (OCI image layout)."""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

_CHUNK: Final = 1 << 20
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class Blob:
    """A piece of an image: its type, digest (`sha256:…`) and size in bytes."""

    media_type: str
    digest: str
    size: int

    @property
    def descriptor(self) -> dict[str, Any]:
        """As manifests name it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True)
class Image:
    """An image in the store; `name` is as people write it (`managedjobs:dev`)."""

    name: str
    manifest: Blob
    parts: tuple[Blob, ...]

    @property
    def size(self) -> int:
        """Bytes of its layers, not compressed."""
        return sum(part.size for part in self.parts)


class Store:
    """The blobs and images below one folder."""

    def __init__(self, root: Path) -> None:
        self._blobs = root / "blobs" / "sha256"
        self._names = root / "names"
        for folder in (self._blobs, self._names):
            folder.mkdir(parents=True, exist_ok=True)

    def add_layer(self, tree: Path, only: Sequence[str] = (".",), *, keep_times: bool = False) -> Blob:
        """Packs these parts of a folder as a layer. The same files give the same digest.

        `keep_times`: modification times stay (Python compares them with what its compiled files say), else they are 0.
        """
        scratch = self._blobs.parent / "layer.tar"
        with tarfile.open(scratch, "w", format=tarfile.PAX_FORMAT) as archive:
            for part in only:
                for path in _walk(tree / part):
                    _add(archive, tree, path, keep_times=keep_times)
        return self._take(scratch, _LAYER)

    def write(self, name: str, layers: Sequence[Blob], config: dict[str, Any], architecture: str) -> Image:
        """Makes an image of layers, the lowest first; it takes the place of an earlier one of this name."""
        described = {
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        }
        settings = self._add_json(described, _CONFIG)
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": settings.descriptor,
            "layers": [layer.descriptor for layer in layers],
        }
        image = Image(name, self._add_json(manifest, _MANIFEST), (settings, *layers))
        self._file(name).write_text(json.dumps({"name": name, "manifest": image.manifest.descriptor}))
        return image

    def get(self, name: str) -> Image | None:
        """The image of this name; None if there is none, or a part of it is missing."""
        try:
            manifest = _blob(json.loads(self._file(name).read_text())["manifest"])
            content = json.loads(self.path(manifest).read_text())
            image = Image(name, manifest, tuple(map(_blob, (content["config"], *content["layers"]))))
        except (OSError, ValueError, KeyError):
            return None
        return image if all(self.path(part).exists() for part in image.parts) else None

    def path(self, blob: Blob) -> Path:
        """Where the content of a blob is."""
        return self._blobs / blob.digest.partition(":")[2]

    def remove_unused(self, besides: Iterable[Blob]) -> None:
        """Deletes blobs that no image needs, besides the given ones."""
        used = {self.path(blob) for blob in besides}
        for file in self._names.glob("*.json"):
            if image := self.get(json.loads(file.read_text())["name"]):
                used.update(self.path(blob) for blob in (image.manifest, *image.parts))
        for file in set(self._blobs.iterdir()) - used:
            file.unlink()

    def stream(self, image: Image, without: frozenset[str], output: IO[bytes]) -> None:
        """Writes the image as an OCI archive, leaving out blobs (by digest) that the reader has already."""
        described = {**image.manifest.descriptor, "annotations": {"io.containerd.image.name": reference(image.name)}}
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [described]}
        with tarfile.open(fileobj=output, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            _add_text(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
            _add_text(archive, "index.json", json.dumps(index))
            for blob in (image.manifest, *image.parts):
                if blob.digest not in without:
                    archive.add(self.path(blob), f"blobs/sha256/{self.path(blob).name}")

    def _add_json(self, value: dict[str, Any], media_type: str) -> Blob:
        scratch = self._blobs.parent / "value.json"
        scratch.write_text(json.dumps(value, sort_keys=True))
        return self._take(scratch, media_type)

    def _take(self, scratch: Path, media_type: str) -> Blob:
        digest = hashlib.sha256()
        with scratch.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
        blob = Blob(media_type, f"sha256:{digest.hexdigest()}", scratch.stat().st_size)
        shutil.move(scratch, self.path(blob))
        return blob

    def _file(self, name: str) -> Path:
        return self._names / f"{name.replace('/', '_').replace(':', '_')}.json"


def reference(name: str) -> str:
    """The full name under which a node looks an image up: `managedjobs:dev` → `docker.io/library/managedjobs:dev`."""
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _blob(descriptor: dict[str, Any]) -> Blob:
    return Blob(descriptor["mediaType"], descriptor["digest"], descriptor["size"])


def _walk(top: Path) -> Iterator[Path]:
    yield top
    if top.is_dir() and not top.is_symlink():
        for child in sorted(top.iterdir()):
            yield from _walk(child)


def _add(archive: tarfile.TarFile, tree: Path, path: Path, *, keep_times: bool) -> None:
    entry = archive.gettarinfo(path, path.relative_to(tree).as_posix())
    entry.mtime = int(entry.mtime) if keep_times else 0
    entry.uname = entry.gname = ""
    if entry.isreg():
        with path.open("rb") as content:
            archive.addfile(entry, content)
    else:
        archive.addfile(entry)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    archive.addfile(entry, io.BytesIO(text.encode()))
