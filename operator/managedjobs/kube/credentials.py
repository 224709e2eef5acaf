"""How we log in to the API server: a service account in a cluster, or a kubeconfig."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from managedjobs.kube.clock import Clock, SystemClock
from managedjobs.kube.errors import CredentialsError

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LOOK_AGAIN_SECONDS = 60.0  # the kubelet replaces the token long before it expires


class TokenSource(Protocol):
    """Gives the request headers that say who we are."""

    def headers(self) -> Mapping[str, str]:
        """The headers for one request; cheap."""
        ...

    async def refresh(self) -> bool:
        """After a 401: look for newer credentials. False: there is nothing else to try."""
        ...


class NoToken:
    """For client certificates, and servers that ask for nothing."""

    def headers(self) -> Mapping[str, str]:
        """No headers."""
        return {}

    async def refresh(self) -> bool:
        """There is nothing to refresh."""
        return False


class TokenFile:
    """A bearer token in a file that somebody else replaces from time to time."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        self._mtime_ns = -1
        self._headers: Mapping[str, str] = {}
        self._look_again_at = 0.0
        self._read_if_changed()

    def headers(self) -> Mapping[str, str]:
        """The token as it was at most a minute ago."""
        if self._clock.monotonic() >= self._look_again_at:
            self._read_if_changed()
        return self._headers

    async def refresh(self) -> bool:
        """Read the file now; worth another try even when it is the same, for the server may have been wrong."""
        self._mtime_ns = -1
        self._read_if_changed()
        return True

    def _read_if_changed(self) -> None:
        self._look_again_at = self._clock.monotonic() + _LOOK_AGAIN_SECONDS
        try:
            mtime_ns = self._path.stat().st_mtime_ns
            if mtime_ns == self._mtime_ns:
                return
            token = self._path.read_text().strip()
        except OSError as error:
            if self._headers:  # the kubelet may be swapping it just now: the old one is still good for a while
                return
            raise CredentialsError(f"can't read the token file {self._path}: {error.strerror}") from error
        if not token:
            raise CredentialsError(f"the token file {self._path} is empty")
        self._mtime_ns = mtime_ns
        self._headers = {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the API server is and how to show who we are; `tls` None only for plain http."""

    server: str  # scheme://host[:port][/prefix], no slash at the end
    tls: ssl.SSLContext | None = None
    token: TokenSource = field(default_factory=NoToken)
    tls_server_name: str | None = None
    proxy: str | None = None

    def headers(self) -> Mapping[str, str]:
        """The headers that say who we are."""
        return self.token.headers()

    async def refresh(self) -> bool:
        """After a 401: look for newer credentials; false when there are none to look for."""
        return await self.token.refresh()


def load_credentials(environ: Mapping[str, str] | None = None) -> Credentials:
    """KUBECONFIG when it is set, else the pod's service account, else ~/.kube/config.

    Raises CredentialsError with one line that says where was looked.
    """
    env = os.environ if environ is None else environ
    if env.get("KUBECONFIG"):
        return _from_kubeconfig(env["KUBECONFIG"])
    if env.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster_credentials(env)
    default = Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    if default.is_file():
        return _from_kubeconfig(str(default))
    raise CredentialsError(
        f"no way to reach a cluster: KUBECONFIG is not set, this is not a pod, and {default} does not exist"
    )


def _from_kubeconfig(path: str) -> Credentials:
    # Imported only when needed: the library costs tens of MiB, which a controller pod must not pay.
    from managedjobs.kube.kubeconfig import kubeconfig_credentials

    return kubeconfig_credentials(path)


def in_cluster_credentials(
    environ: Mapping[str, str], directory: Path = SERVICE_ACCOUNT_DIR, clock: Clock | None = None
) -> Credentials:
    """The service account that the kubelet mounted into this pod."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise CredentialsError("KUBERNETES_SERVICE_HOST is not set: this is not a pod")
    if ":" in host:
        host = f"[{host}]"
    return Credentials(
        server=f"https://{host}:{port}",
        tls=tls_context(str(directory / "ca.crt")),
        token=TokenFile(directory / "token", clock),
    )


def tls_context(ca_file: str | None, cert_file: str | None = None, key_file: str | None = None) -> ssl.SSLContext:
    """A context that always verifies: against `ca_file`, or the machine's own authorities when it is None."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if ca_file:
            context.load_verify_locations(cafile=ca_file)
        else:
            context.load_default_certs()
        if cert_file:
            context.load_cert_chain(cert_file, key_file)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(name for name in (ca_file, cert_file, key_file) if name)
        raise CredentialsError(f"can't use the certificates in {files}: {error}") from error
    return context
