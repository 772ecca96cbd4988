"""`hermes doctor` lists the addresses that model calls go to, also those of deployments."""

from pathlib import Path

import pytest

from hermes.config import Settings, load
from hermes.control.doctor import trust_checks, trusted_addresses

PLAIN = """
providers:
  house:
    model: m
    base_url: {base}
    deployments:
      near: {{base_url: "http://10.0.0.5/v1", api_key: k}}
      open: {{base_url: "http://10.0.0.6/v1"}}
      safe: {{base_url: "https://models.example.com/v1", api_key: k}}
      here: {{{here}}}
"""


def settings_of(home: Path, **words: str) -> Settings:
    (home / "config.yaml").write_text(PLAIN.format(**words))
    (home / "config.yaml").chmod(0o600)
    return load({}, home).settings


def house_addresses(settings: Settings) -> list[str]:
    return [one for one in trusted_addresses(settings) if "providers.house" in one]


def warned(settings: Settings) -> list[str]:
    return [check.fix for check in trust_checks(settings) if check.status == "warn"]


@pytest.mark.req("W1", "W7")
def test_addresses_of_deployments_are_listed_and_their_keys_are_not_sent_in_clear(
    tmp_path: Path,
) -> None:
    settings = settings_of(
        tmp_path, base='"http://10.0.0.4/v1"', here='base_url: "http://127.0.0.1/v1", api_key: k'
    )

    assert house_addresses(settings) == [
        "http://10.0.0.5/v1 (providers.house.deployments.near.base_url)",
        "http://10.0.0.6/v1 (providers.house.deployments.open.base_url)",
        "http://127.0.0.1/v1 (providers.house.deployments.here.base_url)",
        "https://models.example.com/v1 (providers.house.deployments.safe.base_url)",
    ]
    assert warned(settings) == ["set providers.house.deployments.near.base_url to an https address"]


@pytest.mark.req("W1", "W7")
def test_a_deployment_without_an_address_sends_its_key_to_that_of_the_provider(
    tmp_path: Path,
) -> None:
    settings = settings_of(tmp_path, base='"http://10.0.0.4/v1"', here="api_key: k")

    assert "http://10.0.0.4/v1 (providers.house.base_url)" in house_addresses(settings)
    assert "set providers.house.base_url to an https address" in warned(settings)
