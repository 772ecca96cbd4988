"""A platform whose secret is missing holds up nothing but itself, and can be set right while it runs."""

import asyncio
import hashlib
import hmac
import json
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)

SECRET = "a-secret-of-twenty-four-x"
CONFIG = """
plugins: [./broken]
platforms:
  webhook:
    enabled: true
    extra:
      routes:
        ci:
          scheme: hmac
          secret: "{secret}"
  broken:
    enabled: true
"""
BROKEN = """
def make(setup):
    return setup.settings["token"].upper() + 1


def register(registry):
    registry.platform(__name__, make)
"""
MANIFEST = """
name = "broken"
label = "Broken"

[capabilities]
delivery = "push"

[settings]
token = { help = "The token.", default = "t" }

[auth]
scheme = "none"

[quality]
verified = []
"""


def write_home(home: Path) -> None:
    plugin = home / "broken"
    plugin.mkdir(parents=True)
    home.chmod(0o700)
    (plugin / "__init__.py").write_text(BROKEN)
    (plugin / "manifest.toml").write_text(MANIFEST)
    (home / "config.yaml").write_text(CONFIG.format(secret=""))


async def hermes(home: Path, *arguments: str) -> tuple[int, str]:
    done = await run_command(home, *arguments)
    return done.returncode, done.stdout + done.stderr


async def call(live: Live, session: aiohttp.ClientSession, *, secret: str = SECRET) -> int:
    body = b'{"text": "the build is red"}'
    mark = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", "x-signature": mark, "x-request-id": "e1"}
    async with session.post(
        f"{live.url}/webhooks/webhook/ci", data=body, headers=headers
    ) as answer:
        return answer.status


async def states(home: Path) -> dict[str, dict[str, str]]:
    """Return how the channels stand once none is about to be connected."""
    async with asyncio.timeout(20):
        while True:
            _, said = await hermes(home, "channels", "--json")
            found = {one["platform"]: one for one in json.loads(said)["channels"]}
            if "starting" not in {one["state"] for one in found.values()}:
                return found


@pytest.mark.req("W2", "W12")
async def test_only_the_channel_without_its_secret_is_stopped_and_it_is_set_right_by_an_order(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    write_home(home)
    async with (
        model_server() as url,
        aiohttp.ClientSession() as session,
        live_gateway(home, with_model(url)) as live,
    ):
        standing = await states(home)
        unsigned = await call(live, session, secret="")
        answered = await live.post(session, text="hello", sender="ann", id="e1")
        _, status = await hermes(home, "status")
        _, alerts = await hermes(home, "alerts", "--json")
        well, doctor = await hermes(home, "doctor")
        logged = live.said()

        (home / "config.yaml").write_text(CONFIG.format(secret=SECRET))
        await hermes(home, "channels", "resume", "webhook")
        later = await states(home)
        forged, taken = (await call(live, session, secret="x" * 24), await call(live, session))

    assert {name: one["state"] for name, one in standing.items()} == {
        "a2a": "connected",
        "broken": "fatal",
        "rest": "connected",
        "v1": "connected",
        "web": "connected",
        "webhook": "fatal",
    }
    missing, fault = (
        "platforms.webhook.extra.routes.ci.secret",
        f"{home}/broken/__init__.py, line 3",
    )
    for place in (standing["webhook"]["note"], status, alerts, doctor, logged):
        assert missing.replace("extra.", "") in place.replace("extra.", "").replace("\n", "")
    for place in (standing["broken"]["note"], logged):
        assert fault in place
    assert "Traceback" not in logged
    assert (unsigned, answered["outcome"], well) == (404, "answered", 1)
    assert later["webhook"]["state"] == "connected"
    assert (forged, taken) == (401, 202)


@pytest.mark.req("W12")
async def test_a_plugin_that_does_not_load_refuses_the_start_in_one_paragraph(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    write_home(home)
    (home / "broken" / "__init__.py").write_text("import json\n\nLIMIT = json.nothing\n")

    code, said = await hermes(home, "up")

    assert code == 1
    assert "'./broken' does not load: AttributeError" in said
    assert f"({home}/broken/__init__.py, line 3)" in said.replace("\n", "")
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) < 6
