"""What importing the client costs: each controller pod pays for it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["client", "informer", "events", "lease", "credentials"])
def test_the_client_needs_nothing_but_aiohttp_and_msgspec(module: str) -> None:
    # In a process of its own: here all of them are loaded by other tests.
    program = (
        f"import sys, managedjobs.kube.{module}\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    allowed = {"aiohappyeyeballs", "aiohttp", "aiosignal", "attr", "frozenlist", "idna", "managedjobs"}
    allowed |= {"msgspec", "multidict", "propcache", "typing_extensions", "yarl", "cython_runtime"}
    found = {name for name in done.stdout.split() if not name.startswith("_")}
    assert found <= allowed
