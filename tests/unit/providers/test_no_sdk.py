"""No official SDK is in the runtime: not locked, not imported, and not needed by any module."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SDKS = {"openai": "openai", "anthropic": "anthropic", "google.genai": "google-genai"}
RUNTIME_LOCKS = ("runtime", "model", "recall")
NAME = re.compile(r"^([a-z0-9-]+)==", re.MULTILINE)
# Everything that is shipped, with the SDKs made impossible to import.
IMPORT_ALL = """
import importlib, pkgutil, sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name in ("openai", "anthropic", "google.genai"):
            raise ImportError("an SDK is asked for: " + name)
sys.meta_path.insert(0, Wall())
import hermes
names = [found.name for found in pkgutil.walk_packages(hermes.__path__, "hermes.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
LOADED = """
import hermes.app.gateway, hermes.app.models, hermes.app.run, hermes.cli, sys
print(sorted(name for name in ("openai", "anthropic", "google.genai") if name in sys.modules))
"""


def locked() -> set[str]:
    texts = [(ROOT / "requirements" / f"{lock}.txt").read_text() for lock in RUNTIME_LOCKS]
    return {name for text in texts for name in NAME.findall(text)}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.req("M1")
def test_no_sdk_is_locked_for_the_runtime_and_nothing_locked_brings_one() -> None:
    providers = packages_distributions()
    # `google` is a name that many packages share: there the package is meant, not the name.
    tops = {module for module in SDKS if "." not in module}
    bringing = {name.lower().replace("_", "-") for top in tops for name in providers.get(top, [])}
    bringing |= {name for module, name in SDKS.items() if "." in module and find_spec(module)}

    assert set(SDKS.values()) <= bringing, "the test environment has them: the names are right"
    assert locked() & {*SDKS.values(), *bringing} == set()


@pytest.mark.req("M1")
def test_the_running_gateway_imports_no_sdk() -> None:
    assert run(LOADED) == "[]"


@pytest.mark.req("M1")
def test_every_module_can_be_imported_where_there_is_no_sdk() -> None:
    assert int(run(IMPORT_ALL)) > 100
