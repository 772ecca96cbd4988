"""A model service that quotes one word of a request in each way of failing, and who reads it then."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
import yaml
from aiohttp import web

from hermes.testing.otlp_collector import OtlpCollector, otlp_collector
from tests.system.live import (
    Live,
    live_gateway,
    run_command,
)

# One for each way to fail: a word, a name, a number, something with signs in it.
SECRETS = {
    "400": "SECRET-alpha-4711",
    "404": "hydrangea",
    "503": "Oyelaran",
    "429": "7741093",
    "stream": "Kirkcudbright",
    "html": "Zürich",
    "late": "ann.lee@example.org",
    "line": "gooseberry",
    "header": "salamander",
    "learn": "quicksilver",
    "embed": "Ballachulish",
}
LIMIT = "This model's maximum context length is 8192 tokens, not for"
_encode = msgspec.json.encode


class Quoter:
    """The service; every failure quotes the one secret that the request holds, and nothing else."""

    def __init__(self) -> None:
        self.quoted: set[str] = set()
        self.url = ""

    async def chat(self, http: web.Request) -> web.StreamResponse:
        text = (await http.read()).decode()
        # The newest is what the person said last.
        held = {text.rfind(secret): way for way, secret in SECRETS.items() if secret in text}
        way = held[max(held)] if held else ""
        if way == "learn" and "You keep the memory" not in text:
            return _answer(http)
        if way:
            self.quoted.add(way)
            return await _fail(http, way)
        return _answer(http)

    async def embed(self, http: web.Request) -> web.StreamResponse:
        asked = msgspec.json.decode(await http.read())
        if any(SECRETS["embed"] in one for one in asked["input"]):
            self.quoted.add("embed")
            return _error(400, f"cannot embed {SECRETS['embed']}")
        data = [{"index": n, "embedding": [1.0, 0.5]} for n, _ in enumerate(asked["input"])]
        return web.Response(body=_encode({"data": data}), content_type="application/json")


def _answer(http: web.Request) -> web.Response:
    said = {"choices": [{"index": 0, "delta": {"content": "Fine."}, "finish_reason": "stop"}]}
    if http.path.endswith("/messages"):
        return _error(500, "not this one")
    return _events(said, "[DONE]")


def _events(*payloads: object) -> web.Response:
    texts = (one if isinstance(one, str) else _encode(one).decode() for one in payloads)
    body = "".join(f"data: {text}\n\n" for text in texts)
    return web.Response(body=body.encode(), headers={"Content-Type": "text/event-stream"})


def _error(status: int, message: str) -> web.Response:
    body = _encode({"error": {"message": message, "type": "invalid_request_error"}})
    return web.Response(status=status, body=body, content_type="application/json")


async def _fail(http: web.Request, way: str) -> web.StreamResponse:
    said = f"{LIMIT} {SECRETS[way]}!"
    if way == "stream":
        return _events({"error": {"message": said}})
    if way == "late":
        begun = {"choices": [{"index": 0, "delta": {"content": "We"}, "finish_reason": None}]}
        return _events(begun, {"error": {"message": said}})
    if way == "html":
        return web.Response(body=f"<p>{said}</p>".encode(), content_type="text/html")
    if way == "header":
        return web.Response(body=b"", headers={"Content-Type": f"text/{SECRETS[way]}"})
    if way == "line":
        assert http.transport is not None
        http.transport.write(f"HTTP/1.1 {SECRETS[way]} {SECRETS[way]}\r\n\r\n".encode())
        http.transport.close()
        return web.Response()
    return _error(int(way) if way.isdigit() else 400, said)


@asynccontextmanager
async def a_quoter() -> AsyncIterator[Quoter]:
    quoter = Quoter()
    app = web.Application()
    for path in ("/v1/chat/completions", "/v1/messages"):
        app.router.add_post(path, quoter.chat)
    app.router.add_post("/v1/embeddings", quoter.embed)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        quoter.url = f"http://{host}:{port}"
        yield quoter
    finally:
        await runner.cleanup()


def settings_for(quoter: Quoter, collector: OtlpCollector) -> dict[str, object]:
    return {
        "providers": {
            "cumulus": {"base_url": f"{quoter.url}/v1", "api_key": "test", "model": "gpt-4o-mini"},
            "anthropic": {"base_url": quoter.url, "api_key": "test", "model": "claude-haiku-4-5"},
            "vllm": {"base_url": f"{quoter.url}/v1", "model": "near"},
        },
        "models": {"default": "cumulus:gpt-4o-mini"},
        # A service that fails all the time would be left alone after a while.
        "routing": {"breaker": {"failures": 1000, "open_s": 0.001, "most_open_s": 0.001}},
        "agents": {"main": {}, "other": {"model": "anthropic:claude-haiku-4-5"}},
        "memory": {
            "embedder": "vllm",
            "extract": True,
            "extract_pause_s": 0.2,
            "extract_after_s": 0.5,
        },
        "otel": {"endpoint": collector.url, "every_s": 0.1},
        "logs": {"level": "debug"},
    }


class Reader:
    """Everything that an operator can read of a gateway, and which secrets stood where."""

    def __init__(self, live: Live, http: aiohttp.ClientSession) -> None:
        self.live = live
        self.http = http
        self.found: list[str] = []

    def see(self, what: str, text: str) -> str:
        forms = {secret: (secret, ascii(secret)[1:-1]) for secret in SECRETS.values()}
        self.found += [
            f"{what}: {one}"
            for one, written in forms.items()
            if any(form.lower() in text.lower() for form in written)
        ]
        return text

    async def get(self, path: str) -> str:
        async with self.http.get(path) as answer:
            return self.see(path.partition("m_")[0], await answer.text())

    async def say(self, text: str, **more: str) -> str:
        """Say something; returns the id of it."""
        body = {"sender": "ann", "text": text, **more}
        async with self.http.post("/api/messages", json=body) as answer:
            return str(json.loads(self.see(text[:6], await answer.text()))["id"])

    async def command(self, *arguments: str) -> str:
        done = await run_command(self.live.home, *arguments, is_merged=True)
        return self.see(arguments[0], done.stdout)

    def files(self) -> None:
        self.see("what it printed", self.live.said())
        for path in self.live.home.rglob("*"):
            if path.is_file():
                self.see(path.name, path.read_bytes().decode("latin-1"))
                self.see(path.name, path.read_bytes().decode(errors="replace"))


async def until(reader: Reader, *events: str) -> None:
    """Wait until the log has told of something."""
    log = reader.live.home / "logs" / "hermes.log"
    async with asyncio.timeout(20):
        # Another process writes it.
        while not all(f'"{event}"' in log.read_text() for event in events):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.mark.req("A30", "W34", "W35")
async def test_one_quoted_word_is_read_nowhere_and_the_rest_of_the_failure_is(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with a_quoter() as quoter, otlp_collector() as collector:
        (home / "config.yaml").write_text(yaml.safe_dump(settings_for(quoter, collector)))
        (home / "config.yaml").chmod(0o600)
        async with (
            live_gateway(home) as live,
            aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        ):
            reader = Reader(live, http)
            said: list[str] = []
            for way, secret in SECRETS.items():
                for agent in ("main", "other"):
                    where = {"agent": agent, "conversation": f"{way}-{agent}"}
                    said.append(await reader.say(f"Let cumulus look up {secret}.", **where))
            fact = {"user": "rest:ann", "key": "dog", "value": SECRETS["embed"]}
            async with http.post("/control/memory", json=fact) as answer:
                assert answer.status == 200
            said.append(await reader.say("What is my dog called?", conversation="dog"))
            await until(reader, "vectors_missing", "job_failed")
            async with asyncio.timeout(20):
                while quoter.quoted != set(SECRETS):  # noqa: ASYNC110  the gateway asks when it likes
                    await asyncio.sleep(0.02)
            stories = [await reader.get(f"/control/why/{one}") for one in said]
            for name in ("status", "models", "alerts", "interactions", "costs", "logs"):
                await reader.get(f"/control/{name}")
            await reader.get("/metrics")
            shown = await reader.command("why", said[0])
            await reader.command("logs", "--level", "warning", "--limit", "1000")
            await until(reader, "turn")
            reader.see("traces", json.dumps(collector.spans, ensure_ascii=False))
        reader.files()

    assert quoter.quoted == set(SECRETS)
    assert sorted(set(reader.found)) == []
    # What helps is told: to whom it happened, what the limit is, and that a word is left out.
    for text in (*stories[:2], shown):
        assert f"{LIMIT} ****!" in text, text
    assert "cumulus: the service refused the request with 400" in shown
    assert len(collector.spans) > len(SECRETS)
