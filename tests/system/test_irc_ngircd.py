"""IRC on a real server, ngIRCd: a real gateway process, real clients, long answers and a restart."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.real_ngircd import PASSWORD, PROGRAM, Ngircd

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        PROGRAM is None, reason="ngircd is not installed: run tools/install_test_parts.sh"
    ),
]
WORDS = [f"w{number}" for number in range(700)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Ngircd]:
    folder = tmp_path / "ngircd"
    folder.mkdir()
    made = Ngircd(folder, has_tls=True)
    yield made
    made.stop()


@asynccontextmanager
async def gateway(folder: Path, model: str, **extra: Any) -> AsyncIterator[Live]:
    """Run a gateway with the plugin, as an operator configures it."""
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    settings = {"server": "127.0.0.1", "server_password": PASSWORD, "nick": "hermes", **extra}
    config = {
        "plugins": ["hermes.contrib.irc"],
        "platforms": {"irc": {"enabled": True, "extra": settings}},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    (home / "config.yaml").chmod(0o600)
    async with live_gateway(
        home, {**with_model(model), "HERMES_ACCESS__ALLOW_ALL": "true"}
    ) as live:
        yield live


@pytest.mark.req("W9", "W10", "W12", "A2")
@pytest.mark.quality("real server")
async def test_people_are_answered_in_channels_and_privately(
    tmp_path: Path, server: Ngircd
) -> None:
    await server.start()
    async with model_server() as model:
        ada = await server.person("Ada", "#lab", "#private sesame")
        async with gateway(
            tmp_path,
            model,
            port=server.tls_port,
            tls=True,
            ca_file=str(server.certificate),
            channels=["#lab", "#private"],
            channel_keys={"#private": "sesame"},
        ):
            await ada.until(" JOIN ", count=2)
            ada.say("#lab", "this is for nobody in particular")
            ada.say("hermes", "hello, only you")
            assert await ada.hear("hermes") == [("Ada", "#1 hello, only you")]
            ada.say("#private", "hermes: are you **there**?")
            # In a channel the model is told who wrote.
            assert await ada.hear("hermes", count=1) == [
                ("#private", "#1 [Ada] are you \x02there\x02?"),
            ]
            assert [line for line in ada.lines if " PRIVMSG #lab " in line] == []
            ada.say("hermes", "\x01VERSION\x01")
            (version,) = await ada.until("\x01VERSION ")
            assert " NOTICE Ada :" in version
        (left,) = await ada.until(" QUIT ")
        assert left.startswith(":hermes!")
        await ada.close()


@pytest.mark.req("W19", "W10")
async def test_a_long_answer_comes_in_lines_that_nobody_cuts_off(
    tmp_path: Path, server: Ngircd
) -> None:
    await server.start()
    script = tmp_path / "script.json"
    script.write_text(f'{{"turns": [{{"text": "{" ".join(WORDS)} ä漢👩‍👩‍👧"}}]}}')
    async with model_server("--script", str(script)) as model:
        ada = await server.person("Ada")
        async with gateway(tmp_path, model, port=server.port, line_gap_s=0.1, burst=10):
            await wait_for_nick(ada, "hermes")
            ada.say("hermes", "everything, please")
            texts: list[str] = []
            while not " ".join(texts).endswith("👩‍👩‍👧"):
                texts += [text for _, text in await ada.hear("hermes")]
        await ada.close()
    assert " ".join(texts).split() == [*WORDS, "ä漢👩‍👩‍👧"]
    assert max(len(line.encode()) + 2 for line in ada.lines) <= 512


@pytest.mark.req("W2", "J17", "W12")
async def test_a_restart_of_the_server_and_a_taken_nick(tmp_path: Path, server: Ngircd) -> None:
    await server.start()
    async with model_server() as model, gateway(tmp_path, model, port=server.port) as live:
        ada = await server.person("Ada")
        await wait_for_nick(ada, "hermes")
        ada.say("hermes", "one")
        assert await ada.hear("hermes") == [("Ada", "#1 one")]

        # Between what she read and its confirmation a restart would make it a marked repeat.
        await live.settled()
        await ada.close()
        thief = await server.restart_with("hermes")
        ada = await server.person("Ada")
        await wait_for_nick(ada, "hermes_")
        ada.say("hermes_", "two")
        # Its own host is the same, and so is its nick: it is the same conversation.
        assert await ada.hear("hermes_") == [("Ada", "#2 two")]
        for person in (thief, ada):
            await person.close()
        assert PASSWORD not in live.said()


async def wait_for_nick(person: Any, nick: str) -> None:
    """Wait until somebody has a nick, by asking the server."""
    while True:
        person.write(f"ISON {nick}")
        (line,) = await person.until(" 303 ")
        if line.lower().endswith(f":{nick}") or f":{nick} " in line.lower():
            return
        await asyncio.sleep(0.1)
