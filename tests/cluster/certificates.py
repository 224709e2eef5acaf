"""Keys and certificates of a throw-away control plane, by the `openssl` program.

Strict readers (Python 3.13, Go) want the key identifiers and usages that are written here.
"""

from pathlib import Path
from typing import Final

from tests.cluster.console import run

_CONFIGURATION: Final = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {alternatives}
"""
_NEW_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650")

SERVER_NAMES: Final = (
    *("IP:127.0.0.1", "IP:10.96.0.1", "DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default"),
    *("DNS:kubernetes.default.svc", "DNS:kubernetes.default.svc.cluster.local"),
)


def make(folder: Path) -> None:
    """Writes `ca`, `apiserver`, `admin` (.crt and .key), `sa.key` and `sa.pub` into the folder."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = _write_configuration(folder, "DNS:unused")
    ca = ("-keyout", folder / "ca.key", "-out", folder / "ca.crt")
    run(
        [
            "openssl",
            "req",
            "-x509",
            "-config",
            config,
            "-extensions",
            "authority",
            "-subj",
            "/CN=managedjobs-test",
            *_NEW_KEY,
            *ca,
        ]
    )
    _leaf(folder, "apiserver", "/CN=kube-apiserver", ",".join(SERVER_NAMES))
    _leaf(folder, "admin", "/O=system:masters/CN=admin", "DNS:admin")
    run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"])
    run(["openssl", "rsa", "-in", folder / "sa.key", "-pubout", "-out", folder / "sa.pub"])


def _leaf(folder: Path, name: str, subject: str, alternatives: str) -> None:
    config = _write_configuration(folder, alternatives)
    signed_by = ("-CA", folder / "ca.crt", "-CAkey", folder / "ca.key")
    files = ("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt")
    run(
        [
            "openssl",
            "req",
            "-x509",
            "-config",
            config,
            "-extensions",
            "leaf",
            "-subj",
            subject,
            *_NEW_KEY,
            *signed_by,
            *files,
        ]
    )


def _write_configuration(folder: Path, alternatives: str) -> Path:
    path = folder / "openssl.cnf"
    path.write_text(_CONFIGURATION.format(alternatives=alternatives))
    return path
