"""Variables that a plugin's manifest names are read as the well-known ones; none of its code runs."""

import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from hermes.config import load
from hermes.config.plugin_files import plugin_folder, plugin_manifests

MANIFEST = """
name = "mailbox"
home_channel_env = "MAIL_HOME"
[capabilities]
delivery = "push"
[settings.token]
help = "The token."
type = "secret"
env = "MAIL_TOKEN"
enables = true
[settings.folder]
help = "Where."
env = "MAIL_FOLDER"
[settings.key]
help = "Taken."
env = "OPENAI_API_KEY"
[settings.path]
help = "Also taken."
env = "HERMES_TIME_ZONE"
"""
FAILS = "raise SystemExit('the code of the plugin ran')\n"


def plugin(folder: Path, manifest: str = MANIFEST) -> Path:
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAILS)
    (folder / "manifest.toml").write_text(manifest)
    return folder


def listed(home: Path, name: object) -> None:
    (home / "config.yaml").write_text(f"plugins: ['{name}']\n")


@pytest.mark.req("W12")
def test_a_credential_in_the_environment_switches_a_plugins_platform_on(tmp_path: Path) -> None:
    listed(tmp_path, plugin(tmp_path / "mailbox"))
    (tmp_path / ".env").write_text("MAIL_FOLDER=letters\nMAILBOX_ALLOWED_USERS=ada\n")
    (tmp_path / ".env").chmod(0o600)

    taken = {"OPENAI_API_KEY": "k", "HERMES_TIME_ZONE": "Asia/Tokyo"}
    loaded = load({"MAIL_TOKEN": "t", "MAIL_HOME": "attic", **taken}, tmp_path)

    mailbox = loaded.settings.platforms["mailbox"]
    assert mailbox.enabled
    assert mailbox.home_channel == "attic"
    assert mailbox.extra["folder"] == "letters"
    assert mailbox.extra["token"] == SecretStr("t")
    assert not {"key", "path"} & set(mailbox.extra)
    assert loaded.settings.time_zone == "Asia/Tokyo"
    assert loaded.settings.access.platforms["mailbox"].allow_from == ("ada",)
    assert loaded.origins["platforms.mailbox.enabled"] == "environment MAIL_TOKEN"
    assert loaded.warnings == ()


@pytest.mark.req("W12")
def test_what_the_file_says_wins_over_what_is_implied(tmp_path: Path) -> None:
    plugin(tmp_path / "mailbox")
    (tmp_path / "config.yaml").write_text("plugins: [./mailbox]\nplatforms: {mailbox: {enabled: false}}\n")  # fmt: skip
    assert not load({"MAIL_TOKEN": "t"}, tmp_path).settings.platforms["mailbox"].enabled


@pytest.mark.req("W12")
def test_a_plugin_that_is_not_listed_changes_nothing(tmp_path: Path) -> None:
    plugin(tmp_path / "mailbox")
    assert "mailbox" not in load({"MAIL_TOKEN": "t"}, tmp_path).settings.platforms


@pytest.mark.req("W12")
@pytest.mark.parametrize("manifest", ["name = ", "name = 7", "", 'name = "mail box"', "a = \xff"])
def test_a_manifest_that_cannot_be_read_is_left_to_the_loader(
    tmp_path: Path, manifest: str
) -> None:
    listed(tmp_path, plugin(tmp_path / "mailbox", manifest))
    assert "mailbox" not in load({"MAIL_TOKEN": "t"}, tmp_path).settings.platforms


@pytest.mark.req("W12")
def test_modules_and_entry_points_are_found_without_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    plugin(site / "outer_of_mail")
    inner = plugin(site / "outer_of_mail" / "inner")
    (inner / "plugin.py").write_text(FAILS)
    info = site / "hermes_mail-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-mail\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hermes.plugins]\nmail = outer_of_mail.inner:register\n"
    )
    monkeypatch.syspath_prepend(str(site))

    names = ("mail", "outer_of_mail.inner", "outer_of_mail.inner.plugin")
    assert [plugin_folder(name, tmp_path) for name in names] == [inner] * 3
    assert plugin_folder("no_such_module.of_mail", tmp_path) is None
    assert plugin_manifests(["mail"], tmp_path) == {"mailbox": inner / "manifest.toml"}
    assert "outer_of_mail" not in sys.modules
