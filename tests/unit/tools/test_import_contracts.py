"""The project's import contracts catch each direction that the design forbids."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ONE_WAY = "Imports go one way"
EDGES_ASIDE = (
    "Channels, providers, store and what they share import nothing from inbox down to plugins"
)
NOT_CONCRETE = "Server, ops and control never import a concrete channel, provider or store"
NO_CHANNEL = "No channel imports a channel"
NO_PROVIDER = "No provider imports a provider"
NO_TESTING = "Shipped code never imports testing"


def make_module(source: Path, name: str, *, text: str = "") -> None:
    folder = source
    *packages, leaf = name.split(".")
    for package in packages:
        folder /= package
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "__init__.py").touch()
    with (folder / f"{leaf}.py").open("a") as handle:
        handle.write(text)


def lint(folder: Path, edges: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs the project's contracts over a small package that has just these imports."""
    for importer, imported in edges:
        make_module(folder / "src", imported)
        make_module(folder / "src", importer, text=f"import {imported}\n")
    shutil.copy(ROOT / "pyproject.toml", folder)
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(command), "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_imports_that_go_down_are_kept_also_when_most_layers_are_absent(tmp_path: Path) -> None:
    status, told = lint(
        tmp_path,
        [
            ("hermes.__main__", "hermes.cli.up"),
            ("hermes.cli.up", "hermes.app"),
            ("hermes.app", "hermes.channels.telegram.channel"),
            ("hermes.channels.telegram.channel", "hermes.net.client"),
            ("hermes.net.client", "hermes.config.settings"),
            ("hermes.pipeline.plan", "hermes.tools.gate"),
            ("hermes.message.event", "hermes.errors"),
            ("hermes.testing.telegram", "hermes.channels.telegram.channel"),
        ],
    )

    assert status == 0, told


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("hermes.errors", "hermes.message.event", ONE_WAY),
        ("hermes.failpoints", "hermes.message.event", ONE_WAY),
        ("hermes.pipeline.lane", "hermes.outbox.send", ONE_WAY),
        ("hermes.inbox.accept", "hermes.net.client", ONE_WAY),
        ("hermes.routing.plan", "hermes.plugins.loader", ONE_WAY),
        ("hermes.channels.rest.channel", "hermes.store.sqlite", ONE_WAY),
        ("hermes.server.rest", "hermes.cli.up", ONE_WAY),
        ("hermes.channel_kit.intake", "hermes.channels.slack.channel", ONE_WAY),
        ("hermes.durable_file", "hermes.message.event", ONE_WAY),
        ("hermes.channels.rest.channel", "hermes.inbox.accept", EDGES_ASIDE),
        ("hermes.providers.gemini.wire", "hermes.routing.plan", EDGES_ASIDE),
        ("hermes.store.sqlite", "hermes.plugins.loader", EDGES_ASIDE),
        ("hermes.channel_kit.intake", "hermes.inbox.accept", EDGES_ASIDE),
        ("hermes.net.client", "hermes.people.budget", EDGES_ASIDE),
        ("hermes.server.rest", "hermes.channels.rest.channel", NOT_CONCRETE),
        ("hermes.ops.status", "hermes.store.sqlite", NOT_CONCRETE),
        ("hermes.control.replay", "hermes.providers.gemini.wire", NOT_CONCRETE),
        ("hermes.channels.rest.channel", "hermes.channels.irc.channel", NO_CHANNEL),
        ("hermes.providers.gemini.wire", "hermes.providers.openai.wire", NO_PROVIDER),
        ("hermes.app", "hermes.testing.telegram", NO_TESTING),
    ],
)
def test_a_forbidden_import_breaks_its_contract(
    tmp_path: Path, importer: str, imported: str, contract: str
) -> None:
    status, told = lint(tmp_path, [(importer, imported)])

    assert status == 1, told
    assert f"{contract} BROKEN" in told


def test_a_new_folder_needs_a_place_in_the_line(tmp_path: Path) -> None:
    status, told = lint(tmp_path, [("hermes.cellar.wine", "hermes.errors")])

    assert status == 1
    assert "hermes.cellar" in told
