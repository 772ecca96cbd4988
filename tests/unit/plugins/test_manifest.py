"""The rows of a manifest: read strictly, and handed to the channel's parts as they are."""

import sys
from pathlib import Path

import pytest

from hermes.errors import ConfigurationError, FailureClass
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel_rows import (
    ChannelRows,
    MediaRow,
    ProofRow,
    RateRow,
    RefusalRow,
    WebhookRow,
)

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
