"""The stand-in model as a process: its port, its scripts, its counts, its end."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hermes.net.client import HttpClient, HttpSettings
from hermes.testing.model_server import text_hash


class Running(msgspec.Struct):
    process: asyncio.subprocess.Process
    url: str


@asynccontextmanager
async def model_server(*options: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hermes.testing.model_server",
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 20)
    yield Running(process, msgspec.json.decode(line)["base_url"])
    assert process.stdin is not None
    process.stdin.close()
    await asyncio.wait_for(process.wait(), 10)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


async def ask(client: HttpClient, url: str, **body: object) -> tuple[int, dict]:
    async with client.request(
        "model",
        "POST",
        f"{url}/chat/completions",
        body=msgspec.json.encode({"model": "m", **body}),
        trusted=True,
    ) as response:
        return response.status, msgspec.json.decode(await response.read(100_000))


def said(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]


def counted(file: Path) -> list[dict]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


@pytest.mark.req("M1")
async def test_it_answers_refuses_in_the_services_shape_and_ends_with_its_input(client):
    async with model_server() as server:
        answered = await ask(client, server.url, messages=said("hello"))
        refused = await ask(client, server.url, messages=[{"role": "robot", "content": "x"}])
        elsewhere = await ask(client, server.url + "/nowhere", messages=said("x"))

    assert answered[0] == 200
    assert answered[1]["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "#1 hello"},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert refused == (
        400,
        {
            "error": {
                "message": "Invalid value 'robot' - at `$.messages[0].role`",
                "type": "invalid_request_error",
                "param": "messages[0].role",
                "code": "invalid_value",
            }
        },
    )
    assert elsewhere[0] == 404
    assert server.process.returncode == 0


@pytest.mark.req("J8")
async def test_calls_are_counted_on_disk_also_when_the_server_is_killed(client, tmp_path):
    file = tmp_path / "calls.jsonl"
    async with model_server("--count-file", str(file)) as server:
        await ask(client, server.url, messages=said("one"))
        await ask(client, server.url, messages=[{"role": "robot", "content": "x"}])
        server.process.kill()
        await server.process.wait()
    async with model_server("--count-file", str(file)) as server:
        await ask(client, server.url, messages=said("two [[fail:503]]"))

    assert [
        (row["number"], row["hash"], row["text"], row.get("fault")) for row in counted(file)
    ] == [
        (1, text_hash("one"), "one", None),
        (1, text_hash("two [[fail:503]]"), "two [[fail:503]]", "status"),
    ]


async def test_a_script_file_is_played_before_the_texts_decide(client, tmp_path):
    file = tmp_path / "script.json"
    file.write_bytes(b'{"turns": [{"text": "first"}, {"fault": "status", "status": 429}]}')
    async with model_server("--script", str(file)) as server:
        answers = [await ask(client, server.url, messages=said("x")) for _ in range(3)]

    assert [status for status, _ in answers] == [200, 429, 200]
    assert answers[0][1]["choices"][0]["message"]["content"] == "first"
    assert answers[2][1]["choices"][0]["message"]["content"] == "#1 x"


async def test_a_key_can_be_demanded(client):
    async with model_server("--key", "k") as server:
        refused = await ask(client, server.url, messages=said("x"))

    assert refused[0] == 401
    assert refused[1]["error"]["code"] == "invalid_api_key"
