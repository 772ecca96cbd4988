"""A plugin's platform is as good as a built-in one: switched on by its variable, sent to from everywhere."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.system.live import environment, live_gateway, model_server, run_command, with_model

MANIFEST = """
name = "drop"
label = "Drop"
emoji = "📦"
hint = "The chat is a folder."
home_channel_env = "DROP_BOX"
setup = ["Make a folder."]
[capabilities]
delivery = "push"
key_window_s = 86400.0
media = ["image", "audio", "video", "file"]
media_bytes = 1000000
unknown = "allow"
[settings.folder]
help = "Where messages are put."
required = true
env = "DROP_FOLDER"
enables = true
[settings.suffix]
help = "How their names end."
pattern = "[a-z]{1,8}"
default = "txt"
[auth]
scheme = "none"
lock = "folder"
[quality]
verified = []
"""
CODE = '''
"""A platform whose chats are folders."""

from pathlib import Path

from hermes.channel_kit.attachments import read_attachment
from hermes.message.parts import AudioPart, FilePart, ImagePart, text_of
from hermes.ports.channel import Receipt


class Drop:
    def __init__(self, setup):
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._files = setup.media
        self._folder = Path(setup.settings["folder"])
        self._suffix = setup.settings["suffix"]

    async def connect(self, accept):
        (self._folder / "connected").touch()

    async def disconnect(self):
        pass

    async def send(self, delivery):
        box = self._folder / delivery.target.chat_id
        box.mkdir(exist_ok=True)
        text = text_of(delivery.parts)
        if text:
            (box / f"{delivery.key}.{self._suffix}").write_text(text)
        for part in delivery.parts:
            if isinstance(part, ImagePart | AudioPart | FilePart):
                data = await self._files.read(part.media, limit=1_000_000)
                (box / part.media.name).write_bytes(data)
        return Receipt(delivery.key)


def register(registry):
    registry.platform(__name__, Drop, sender=Drop)
'''


def installed(home: Path, way: str) -> tuple[str, dict[str, str]]:
    """Put the plugin where it is found; return its name in `plugins`, and the environment for it."""
    if way == "folder":
        folder, named = home / "plugins" / "drop", "./plugins/drop"
    else:
        folder, named = home.parent / "site" / "drop_of_hermes", "drop"
        info = home.parent / "site" / "drop_of_hermes-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: drop-of-hermes\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text("[hermes.plugins]\ndrop = drop_of_hermes:register\n")
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(CODE)
    (folder / "manifest.toml").write_text(MANIFEST)
    return named, {} if way == "folder" else {"PYTHONPATH": str(folder.parent)}


def made_home(tmp_path: Path, way: str) -> tuple[Path, dict[str, str], Path]:
    """Return a home that lists the plugin and nothing else, its environment, and the chats' folder."""
    home, boxes = tmp_path / "home", tmp_path / "boxes"
    home.mkdir(mode=0o700)
    boxes.mkdir()
    named, environ = installed(home, way)
    (home / "config.yaml").touch(mode=0o600)
    (home / "config.yaml").write_text(yaml.safe_dump({"plugins": [named]}))
    locks = {"HERMES_PROCESS__LOCK_DIR": str(tmp_path / "locks")}
    return home, {"DROP_FOLDER": str(boxes), "DROP_BOX": "attic", **locks, **environ}, boxes


async def hermes(home: Path, environ: dict[str, str], *arguments: str, code: int = 0) -> str:
    if "PYTHONPATH" in environ:
        done = await asyncio.to_thread(_cold, home, environ, arguments)
    else:
        done = await run_command(home, *arguments, more=environ)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def _cold(
    home: Path, environ: dict[str, str], arguments: tuple[str, ...]
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a Python of its own, which finds what was installed meanwhile."""
    return subprocess.run(
        [sys.executable, "-m", "hermes", *arguments],
        env=environment(home, environ),
        capture_output=True,
        text=True,
        check=False,
    )


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


def texts(box: Path) -> list[str]:
    return [one.read_text() for one in sorted(box.glob("*.txt"))]


@pytest.mark.req("W12", "W27")
@pytest.mark.parametrize("way", ["folder", "entry point"])
async def test_w12_its_variable_is_enough_and_its_sender_needs_no_gateway(
    tmp_path: Path, way: str
) -> None:
    home, environ, boxes = made_home(tmp_path, way)
    report = tmp_path / "a report.bin"
    report.write_bytes(b"\x00\x01 the whole of it")

    sent = await hermes(home, environ, "send", "drop", "It is done.", "--file", str(report))
    alone = await hermes(home, environ, "send", "drop:cellar", "--file", str(report), "--json")

    assert sent.startswith("Sent to drop (o_")
    assert json.loads(alone)["state"] == "sent"
    assert texts(boxes / "attic") == ["It is done."]
    for box in ("attic", "cellar"):
        assert (boxes / box / "a report.bin").read_bytes() == report.read_bytes()
    # The plugin's own sender does not connect.
    assert not (boxes / "connected").exists()


@pytest.mark.req("W12", "W27")
async def test_w12_a_gateway_knows_it_as_it_knows_a_built_in_one(tmp_path: Path) -> None:
    home, environ, boxes = made_home(tmp_path, "folder")
    report = tmp_path / "report.bin"
    report.write_bytes(b"\x00\x01")
    async with model_server() as url:
        async with live_gateway(home, {**with_model(url), **environ}):
            listed = json.loads(await hermes(home, environ, "channels", "list", "--json"))
            status = await hermes(home, environ, "status")
            await hermes(home, environ, "send", "drop", "", "--file", str(report))
            await until((boxes / "attic" / "report.bin").exists)
            await hermes(home, environ, "users", "add", "drop:ada")
            every = ("every day at 9", "Say hello.", "--to", "drop", "--json")
            job = await hermes(home, environ, "cron", "add", "drop:ada", *every)
        offline = json.loads(await hermes(home, environ, "channels", "list", "--json"))

    drop = next(one for one in listed["channels"] if one["platform"] == "drop")
    assert drop["state"] == "connected"
    assert "drop" in status
    assert "drop" in job
    assert drop["can"] == next(
        one["can"] for one in offline["channels"] if one["platform"] == "drop"
    )
    assert (boxes / "connected").exists()


@pytest.mark.req("W12")
async def test_w12_a_rule_of_its_manifest_stops_only_its_channel(tmp_path: Path) -> None:
    home, environ, _ = made_home(tmp_path, "folder")
    wrong = {**environ, "HERMES_PLATFORMS__DROP__EXTRA__SUFFIX": "TXT!"}
    told = await hermes(home, wrong, "send", "drop", "It is done.", code=75)
    assert "platforms.drop.suffix: expected a text of the form [a-z]{1,8}, found 'TXT!'" in told


@pytest.mark.req("W12", "W27")
async def test_w12_its_accounts_send_each_to_its_own_place(tmp_path: Path) -> None:
    home, environ, boxes = made_home(tmp_path, "folder")
    other = tmp_path / "others"
    other.mkdir()
    config = yaml.safe_load((home / "config.yaml").read_text())
    config["platforms"] = {"drop": {"accounts": {"second": {"extra": {"folder": str(other)}}}}}
    (home / "config.yaml").write_text(yaml.safe_dump(config))

    sent = await hermes(home, environ, "send", "drop/second:attic", "It is done.")

    assert sent.startswith("Sent to drop/second:attic (o_")
    assert (texts(other / "attic"), texts(boxes / "attic")) == (["It is done."], [])
    assert not (other / "connected").exists()
