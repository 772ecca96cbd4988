"""The rows of a manifest: read strictly, and handed to the channel's parts as they are."""

import sys
from pathlib import Path

import pytest

from hermes.errors import ConfigurationError, FailureClass
from hermes.plugins.manifest import ManifestFile, load_manifest, manifests_in, read_settings
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


_RULES = """
pattern = "[a-z]{4,8}"
type = "secret"
[settings.room]
help = "The room."
pattern = "#[a-z]+"
expects = "a room such as #lab"
[settings.server]
help = "The server."
form = "url"
[settings.wait_s]
help = "How long."
type = "number"
default = 30
least = 1
most = 50
"""


def test_settings_that_keep_their_rules_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = load_manifest(_package(tmp_path, monkeypatch, _HEAD + _RULES))
    given = {"app_secret": "abcd", "room": "#lab", "server": "http://e.org:81/x", "wait_s": "50"}

    assert read_settings(manifest, given) == {**given, "wait_s": 50}
    assert read_settings(manifest, {})["wait_s"] == 30


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"app_secret": "abc"}, "app_secret: expected a text that fits [a-z]{4,8}, found something else"),
        ({"app_secret": "abcd\nx"}, "app_secret: expected a text that fits [a-z]{4,8}, found something else"),
        ({"room": "lab"}, "room: expected a room such as #lab, found 'lab'"),
        ({"server": "ftp://u:p@e.org"}, "server: expected an http(s) address, found something else"),
        ({"server": "http://e.org:99999"}, "server: expected an http(s) address, found something else"),
        ({"server": "http://e.org?a=1"}, "server: expected an http(s) address, found something else"),
        ({"wait_s": 0.5}, "wait_s: expected 1 to 50, found 0.5"),
        ({"wait_s": "nan"}, "wait_s: expected 1 to 50, found nan"),
    ],
)  # fmt: skip
def test_a_setting_that_breaks_a_rule_is_named_and_no_secret_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], problem: str
) -> None:
    manifest = load_manifest(_package(tmp_path, monkeypatch, _HEAD + _RULES))

    with pytest.raises(ConfigurationError) as caught:
        read_settings(manifest, given)
    assert str(caught.value) == f"platforms.example.{problem}"


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
