"""The manifests of the built-in HTTP channels say what the code does."""

import tomllib
from importlib import resources

import msgspec
import pytest

from hermes.channels.rest.channel import RestSettings
from hermes.channels.web.channel import WebSettings
from hermes.errors import ConfigurationError
from hermes.plugins.manifest import load_capabilities

SETTINGS = {"hermes.channels.rest": RestSettings(), "hermes.channels.web": WebSettings()}


@pytest.mark.req("W10")
@pytest.mark.parametrize("package", SETTINGS)
def test_replies_are_fetched_not_sent(package: str) -> None:
    assert load_capabilities(package).delivery == "pull"


@pytest.mark.req("W10")
@pytest.mark.parametrize("package", SETTINGS)
def test_the_defaults_are_the_manifests(package: str) -> None:
    text = (resources.files(package) / "manifest.toml").read_text(encoding="utf-8")
    manifest = tomllib.loads(text)
    declared = {name: entry["default"] for name, entry in manifest["settings"].items()}
    declared["body_bytes"] = manifest["limits"]["body_bytes"]
    assert declared == msgspec.structs.asdict(SETTINGS[package])


@pytest.mark.req("W10")
def test_a_package_without_a_manifest_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"hermes\.message has no manifest\.toml"):
        load_capabilities("hermes.message")
