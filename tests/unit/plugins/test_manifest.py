"""The rows of a manifest: read strictly, and handed to the channel's parts as they are."""

import sys
from pathlib import Path

import pytest

from hermes.errors import ConfigurationError, FailureClass
from hermes.plugins.manifest import ManifestFile, load_manifest, manifests_in
from hermes.plugins.registry import Registry
from hermes.ports.channel import Channel
from hermes.ports.channel_rows import (
    ChannelRows,
    MediaRow,
    ProofRow,
    RateRow,
    RefusalRow,
    WebhookRow,
)
from hermes.ports.channel_setup import ChannelSetup

_HEAD = """
name = "example"
label = "Example"
[capabilities]
delivery = "push"
[auth]
scheme = "none"
[quality]
verified = []
[settings.app_secret]
help = "The secret."
"""
_ROWS = """
[webhook]
proof = { kind = "hmac", at = "header:x-signature", secret = "app_secret", prefix = "sha256=" }
answer_s = 5.0
[[refusal]]
status = 429
failure = "rate_limited"
then = "retry"
[[rate]]
scope = "chat"
most = 5
within_s = 5.0
[media.image]
mimes = ["image/png"]
bytes = 1000
otherwise = "file"
"""


def _package(folder: Path, monkeypatch: pytest.MonkeyPatch, manifest: str) -> str:
    name = "manifest_of_rows"
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "manifest.toml").write_text(manifest)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = _package(tmp_path, monkeypatch, _HEAD + _ROWS)

    rows = load_manifest(package).rows

    assert rows == ChannelRows(
        webhook=WebhookRow(
            proof=ProofRow(
                kind="hmac", at="header:x-signature", secret="app_secret", prefix="sha256="
            ),
            answer_s=5.0,
        ),
        refusal=(RefusalRow(status=429, failure=FailureClass.RATE_LIMITED, then="retry"),),
        rate=(RateRow(scope="chat", most=5, within_s=5.0),),
        media={"image": MediaRow(mimes=("image/png",), bytes=1000, otherwise="file")},
    )


def test_a_misspelt_column_of_a_row_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = _package(tmp_path, monkeypatch, _HEAD + _ROWS.replace("answer_s", "answers_s"))

    with pytest.raises(ConfigurationError, match="answers_s"):
        load_manifest(package)


def test_a_package_may_offer_several_platforms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "wires" / "several"
    package.mkdir(parents=True)
    for name in ("channel.py", "__init__.py", "../__init__.py"):
        (package / name).write_text("")
    for name in ("fax", "telex"):
        (package / f"{name}.toml").write_text(_HEAD.replace("example", name, 1))
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry()

    found = manifests_in("wires")
    for one in found.values():
        registry.platform(one.package, _no_channel, manifest=one.file)

    assert found == {
        "fax": ManifestFile("wires.several", "fax.toml"),
        "telex": ManifestFile("wires.several", "telex.toml"),
    }
    assert [one.make for one in found.values()] == ["make_fax", "make_telex"]
    assert ManifestFile("wires.one").make == "make"
    assert list(registry.platforms) == ["fax", "telex"]
    assert {one.package for one in registry.platforms.values()} == {"wires.several"}


def _no_channel(setup: ChannelSetup) -> Channel:
    raise NotImplementedError
