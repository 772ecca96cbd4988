"""The examples of a reverse proxy are run: a real nginx, a real Caddy, and TLS in front of a gateway."""

import asyncio
import getpass
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.testing.model_script import ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.model_server import ModelServer
from tests.docs.computer import Computer, computer
from tests.docs.lesson import running_gateway, write_file
from tests.docs.markdown import ROOT, blocks_of
from tests.system.live import with_model
from tests.warm.python import put_shell_command

PAGE = ROOT / "docs" / "how-to" / "reverse-proxy.md"
URL = "https://hermes.example.org"
CERTIFICATES = "/etc/letsencrypt/live/hermes.example.org"
WAIT_S = 30.0
PROXIES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin") is None,
            reason=f"no {name} here: apt-get install {name}",
        ),
    )
    for name in ("nginx", "caddy")
]


def block_with(word: str) -> str:
    (block,) = [one for one in blocks_of(PAGE) if word in one.text and one.language == "text"]
    return block.text


def nginx_command(folder: Path) -> list[str]:
    """Write the example where nginx reads it; only the place of the certificate is another one."""
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "2", "-subj", "/CN=hermes.example.org",
            "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    server = block_with("proxy_pass").replace(CERTIFICATES, str(folder))
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        # Its workers write large bodies into the folder of this test.
        f"user {getpass.getuser()}; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        "daemon off;\n"
        f"events {{}}\nhttp {{ access_log off; {places}\n{server}\n}}\n"
    )
    return ["nginx", "-e", str(folder / "error.log"), "-c", str(file)]


def caddy_command(folder: Path) -> list[str]:
    """Write the example where Caddy reads it; its certificate is of its own authority."""
    file = folder / "Caddyfile"
    top = f"{{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tstorage file_system {folder}\n}}\n"
    file.write_text(top + block_with("flush_interval"))
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


COMMANDS = {"nginx": nginx_command, "caddy": caddy_command}


def answer(seen: SeenConversation, number: int) -> ScriptedTurn:
    """Hang after the first piece of an answer if asked to."""
    if seen.last_text == "hang":
        return ScriptedTurn(text="first second", deltas=2, fault="hang", after=1)
    return answer_by_text(seen, number)


@asynccontextmanager
async def behind(proxy: str, folder: Path) -> AsyncIterator[Computer]:
    """Run a gateway with the settings of the page, and the proxy in front of it."""
    programs, own = folder / "programs", folder / "proxy"
    programs.mkdir()
    own.mkdir()
    put_shell_command(programs)
    async with (
        computer(folder, programs, {}) as machine,
        ModelServer(answer, listener=machine.listener) as model,
    ):
        reader = machine.with_variables(with_model(model.base_url))
        settings = next(one for one in blocks_of(PAGE) if one.file is not None)
        write_file(settings, home=reader.home)
        async with running_gateway(reader, folder / "gateway.out"):
            started = await reader.start(*COMMANDS[proxy](own), output=folder / "proxy.out")
            try:
                await _until_it_answers(reader, folder)
                yield reader
            finally:
                started.terminate()
                await started.wait()


async def _until_it_answers(reader: Computer, folder: Path) -> None:
    async with asyncio.timeout(WAIT_S):
        # curl waits and tries again by itself.
        found = await typed(reader, folder, f"{CURL} --retry 100 --retry-all-errors {URL}/healthz")
    assert "alive" in found, (folder / "proxy.out").read_text()


CURL = "curl -sk --resolve hermes.example.org:443:127.0.0.1"


async def typed(reader: Computer, folder: Path, command: str) -> str:
    """Run a command of the shell; returns what it printed."""
    output = folder / "typed.out"
    process = await reader.start("bash", "-c", command, output=output)
    await process.wait()
    return output.read_text()


@pytest.mark.req("W1")
@pytest.mark.parametrize("proxy", PROXIES)
async def test_the_example_of_a_proxy_works(proxy: str, tmp_path: Path) -> None:
    async with behind(proxy, tmp_path) as reader:

        async def curl(words: str) -> str:
            return await typed(reader, tmp_path, f"{CURL} {words}")

        token = (await typed(reader, tmp_path, "hermes token")).strip()
        link = (await typed(reader, tmp_path, "hermes link")).strip()
        head = f"-H 'Authorization: Bearer {token}' -H 'Content-Type: application/json'"
        (tmp_path / "fits.json").write_text(json.dumps({"sender": "a", "text": "x" * 1_900_000}))
        (tmp_path / "large.json").write_text(json.dumps({"sender": "a", "text": "x" * 2_500_000}))
        messages = f"{URL}/api/messages {head}"

        # when a page is opened, it is known to come by https
        head_of_page = await curl(f"-o {tmp_path}/page -D - '{link}'")
        # when bodies are large, Hermes answers and not the proxy
        fits = await curl(f"{messages} -d @{tmp_path}/fits.json")
        large = await curl(f"{messages} -d @{tmp_path}/large.json")
        # when a model hangs after its first word, the word is there
        stream = await curl(
            f"{messages} -N -m 5 -H 'Accept: text/event-stream' "
            '-d \'{"sender": "a", "text": "hang"}\''
        )

        assert link.startswith(f"{URL}/signin?code=")
        assert "bad_request" in fits
        assert "too_large" in large
        assert '{"text":"first ' in stream
        assert "event: done" not in stream
        assert re.search(r"(?im)^set-cookie: .*; secure", head_of_page)
