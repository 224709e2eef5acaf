"""Credentials from a kubeconfig, read through the `kubernetes` library (exec plug-ins, OIDC, certificates).

Imported only where a kubeconfig is used: the library is large.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from kubernetes import client, config

from managedjobs.kube.credentials import Credentials, NoToken, TokenSource, tls_context
from managedjobs.kube.errors import CredentialsError, one_line

logger = logging.getLogger(__name__)


class KubeconfigToken:
    """A bearer token that the library got from the file, a plug-in or an identity provider."""

    def __init__(self, path: str, configuration: Any) -> None:  # noqa: ANN401 - the library has no types
        self._path = path
        self._configuration = configuration

    def headers(self) -> Mapping[str, str]:
        """The present token."""
        token = self._configuration.api_key.get("BearerToken")
        return {"Authorization": token} if token else {}

    async def refresh(self) -> bool:
        """Read the kubeconfig again, which runs its plug-in again; in a thread, for a plug-in takes its time."""
        try:
            self._configuration = await asyncio.to_thread(_load, self._path)
        except CredentialsError as error:
            logger.warning("credentials not refreshed", extra={"error": str(error)})
            return False
        return True


def kubeconfig_credentials(path: str) -> Credentials:
    """The current context of the kubeconfig at `path`; several files joined by ':' work.

    Raises CredentialsError, with one line that names the file.
    """
    configuration = _load(path)
    server = str(configuration.host or "").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise CredentialsError(f"kubeconfig {path}: the current context names no server")
    if not configuration.verify_ssl:
        raise CredentialsError(
            f"kubeconfig {path}: insecure-skip-tls-verify is not supported; give certificate-authority instead"
        )
    tls = None
    if server.startswith("https://"):
        tls = tls_context(configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    has_token = "BearerToken" in configuration.api_key
    token: TokenSource = KubeconfigToken(path, configuration) if has_token else NoToken()
    return Credentials(server, tls, token, configuration.tls_server_name, configuration.proxy)


def _load(path: str) -> Any:  # noqa: ANN401 - the library has no types
    configuration = client.Configuration()
    try:
        config.load_kube_config(config_file=path, client_configuration=configuration)  # type: ignore[no-untyped-call] # no types
    except Exception as error:  # the library raises all sorts of errors for a bad file
        raise CredentialsError(f"kubeconfig {path}: {one_line(str(error)) or type(error).__name__}") from error
    return configuration
