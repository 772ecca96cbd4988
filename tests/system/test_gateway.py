"""The whole gateway as a user meets it: started, fed with good and bad input, stopped."""

import asyncio
import io
import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.stores.opening import raw_bytes
from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as running:
        yield running


@pytest.fixture
async def http(live: Live) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(live.url, headers=live.bearer) as session:
        yield session


async def hermes(live: Live, *arguments: str) -> tuple[int, str, str]:
    done = await run_command(live.home, *arguments)
    return done.returncode, done.stdout, done.stderr


async def refused(http: aiohttp.ClientSession, body: bytes, **headers: str) -> tuple[int, str]:
    given = {"content-type": "application/json", **headers}
    async with http.post("/api/messages", data=io.BytesIO(body), headers=given) as answer:
        return answer.status, (await answer.json())["error"]["message"]


@pytest.mark.req("A2", "A30", "W1")
async def test_a_message_is_answered_with_what_it_took(
    live: Live, http: aiohttp.ClientSession
) -> None:
    answer = await live.post(http, sender="ann", text="hello", id="one")

    assert answer["reply"] == "#1 hello"
    assert answer["outcome"] == "answered"
    assert answer["model"] == "openai:gpt-4o-mini"
    assert answer["tokens_in"] > 0  # type: ignore[operator]
    assert answer["tool_calls"] == []
    async with http.get(f"/api/messages/{answer['id']}") as again:
        assert (await again.json())["reply"] == "#1 hello"


@pytest.mark.req("W9")
async def test_the_page_names_the_model_that_answers_after_a_swap(
    live: Live, http: aiohttp.ClientSession
) -> None:
    async def named() -> str:
        async with http.get("/web/info") as info:
            return str((await info.json())["model"])

    assert await named() == "openai:gpt-4o-mini"
    for swapped, answers in (("openai:gpt-4o", "gpt-4o"), ("default", "gpt-4o-mini")):
        order = {"model": swapped}
        async with http.post("/control/models/swap", json=order) as swap:
            assert swap.status == 200
        answer = await live.post(http, sender="ann", text="hello")
        assert (await named(), answer["model"]) == (f"openai:{answers}", f"openai:{answers}")


@pytest.mark.req("W7", "P1")
async def test_a_swap_holds_over_restarts_until_it_is_undone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        async with live_gateway(home, with_model(url)) as live:
            before = await swapped(live)
            await order_swap(live, "openai:gpt-4o")
            await live.stop(signal.SIGKILL)
        async with live_gateway(home, with_model(url)) as live:
            after = await swapped(live)
            async with aiohttp.ClientSession() as http:
                answer = await live.post(http, sender="ann", text="hello")
            _, told, _ = await hermes(live, "status")
            await order_swap(live, "default")
            undone = await swapped(live)
            await live.stop(signal.SIGKILL)
        async with live_gateway(home, with_model(url)) as live:
            at_last = await swapped(live)

    configured = ("openai:gpt-4o-mini", None)
    assert (before, undone, at_last) == (configured, configured, configured)
    assert after == ("openai:gpt-4o", ("openai:gpt-4o", None))
    assert answer["model"] == "openai:gpt-4o"
    assert "openai:gpt-4o is the default model, since" in told


@pytest.mark.req("W7", "P1")
async def test_a_swap_to_a_model_that_is_no_longer_configured_is_told_and_ignored(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        async with live_gateway(home, with_model(url)) as live:
            await order_swap(live, "openai:gpt-4o")
            await live.stop()
        async with live_gateway(home, {"HERMES_PROVIDERS__OPENAI__ENABLED": "false"}) as live:
            model, swap = await swapped(live)
            _, told, _ = await hermes(live, "status")
            said = live.said()
            await live.stop()
        async with live_gateway(home, with_model(url)) as live:
            back = await swapped(live)

    assert swap is not None
    assert model != "openai:gpt-4o"
    assert "there is no provider for the explicit model 'openai:gpt-4o'" in (swap[1] or "")
    assert "openai:gpt-4o IS NOT USED: there is no provider" in " ".join(told.split())
    assert "model_swap_ignored" in said
    assert back == ("openai:gpt-4o", ("openai:gpt-4o", None))


async def order_swap(live: Live, model: str) -> None:
    async with (
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
        http.post("/control/models/swap", json={"model": model}) as swap,
    ):
        assert swap.status == 200, await swap.text()


async def swapped(live: Live) -> tuple[str, tuple[str, str | None] | None]:
    """Return which model answers now, and the swap that the status tells of, with its problem."""
    async with aiohttp.ClientSession(live.url, headers=live.bearer) as http:
        async with http.get("/web/info") as answer:
            model = (await answer.json())["model"]
        async with http.get("/control/status") as answer:
            swap = (await answer.json()).get("model_swap")
    return model, None if swap is None else (swap["model"], swap.get("problem"))


@pytest.mark.req("J1")
async def test_the_same_request_again_is_answered_as_before(
    live: Live, http: aiohttp.ClientSession
) -> None:
    first = await live.post(http, sender="ann", text="hello", id="one")
    again = await live.post(http, sender="ann", text="hello", id="one")

    assert again == {**first, "duplicate": True}
    status, text = await refused(
        http, json.dumps({"sender": "ann", "text": "other", "id": "one"}).encode()
    )
    assert status == 409
    assert "new id" in text


BAD_INPUT = (
    (b"{", 400, "JSON"),
    (b'{"sender": 1, "text": "x"}', 400, "sender"),
    (b'{"sender": "ann"}', 400, "text"),
    (b'{"sender": "ann", "text": "x", "conversatoin": "y"}', 400, "conversation"),
    (b'{"sender": "ann", "text": "   "}', 400, "text"),
    (b'{"sender": "ann", "text": "\xff\xfe"}', 400, "UTF-8"),
    (b'{"sender": "ann", "text": "\\ud800"}', 400, "surrogate"),
    (b'{"sender": "ann", "text": "x", "agent": "nobody"}', 404, "main"),
    (b"[" * 5000, 400, "JSON"),
    (b'{"sender": "ann", "text": "' + b"x" * 3_000_000 + b'"}', 413, "2097152"),
)


@pytest.mark.req("J2", "A8")
async def test_bad_input_gets_a_clear_error_and_keeps_nothing(
    live: Live, http: aiohttp.ClientSession
) -> None:
    for body, status, hint in BAD_INPUT:
        answered, text = await refused(http, body)

        assert (answered, hint.lower() in text.lower()) == (status, True), (body[:99], text)
        async with http.get("/control/status") as told:
            assert (await told.json())["waiting_messages"] == 0, body[:99]
    code, out, _ = await hermes(live, "status", "--json")
    assert code == 0
    assert json.loads(out)["waiting_messages"] == 0


@pytest.mark.req("J2")
async def test_a_body_of_ten_megabytes_is_refused_before_it_is_read(live: Live) -> None:
    host, port = live.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /api/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        + f"authorization: Bearer {live.token}\r\ncontent-length: 10485760\r\n\r\n".encode()
    )
    await writer.drain()

    status = await asyncio.wait_for(reader.readline(), 5)

    assert b" 413 " in status
    writer.close()


@pytest.mark.req("J2")
async def test_without_a_credential_nothing_is_kept(live: Live) -> None:
    async with aiohttp.ClientSession(live.url) as stranger:
        async with stranger.post("/api/messages", json={"sender": "a", "text": "x"}) as answer:
            assert answer.status == 401
        async with stranger.get(f"/api/messages/m?token={live.token}") as answer:
            assert answer.status in {400, 401}
    code, out, _ = await hermes(live, "status", "--json")
    assert code == 0
    assert json.loads(out)["store"]["details"]["units_written"] <= 4


@pytest.mark.req("A8", "J10")
async def test_a_client_that_leaves_does_not_stop_its_turn(
    live: Live, http: aiohttp.ClientSession
) -> None:
    message = {"sender": "ann", "text": "[[slow:0.3]] still there?", "id": "left"}
    stream = await http.post("/api/messages", json=message, headers={"accept": "text/event-stream"})
    await stream.content.readline()
    stream.close()

    again = await live.post(http, **message)

    assert again["outcome"] == "answered"
    assert again["duplicate"] is True


@pytest.mark.req("A32")
async def test_why_explains_answered_duplicate_and_refused_messages(
    live: Live, http: aiohttp.ClientSession
) -> None:
    answer = await live.post(http, sender="ann", text="hello", id="one")
    await live.post(http, sender="ann", text="hello", id="one")
    async with http.post("/api/messages", json={"sender": "ann", "text": ""}) as bad:
        refusal = (await bad.json())["error"]["refusal"]

    _, told, _ = await hermes(live, "why", str(answer["id"]))
    _, by_their_id, _ = await hermes(live, "why", "one", "--json")
    _, of_refusal, _ = await hermes(live, "why", refusal)
    code, _, problem = await hermes(live, "why", "m_unknown")

    assert "Answered after" in told
    assert "duplicate" in told
    assert json.loads(by_their_id)["id"] == answer["id"]
    assert "efused" in of_refusal
    assert (code, "m_unknown" in problem) == (1, True)


@pytest.mark.req("W1", "W4", "W35")
async def test_the_first_start_makes_a_private_home_and_shows_the_token_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with live_gateway(home) as first:
        said = first.said()
        token = next(word for word in said.split() if word.startswith("hermes_"))
        async with aiohttp.ClientSession(first.url) as session, session.get("/readyz") as ready:
            assert ready.status == 200
        assert await first.stop(signal.SIGINT) == 0
    async with live_gateway(home) as second:
        assert "hermes_" not in second.said()
        async with (
            aiohttp.ClientSession(second.url) as session,
            session.get("/api/messages/m_none", headers={"authorization": f"Bearer {token}"}) as no,
        ):
            assert no.status == 404

    modes = {
        path.relative_to(home).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (home, home / "keys" / "store.keys", home / "run")
    }
    assert modes == {".": 0o700, "keys/store.keys": 0o600, "run": 0o700}
    assert token.encode() not in raw_bytes(home)


@pytest.mark.req("W4", "J20")
async def test_a_second_gateway_on_the_same_home_is_refused_with_the_way_out(live: Live) -> None:
    code, _, problem = await hermes(live, "up")

    assert code == 1
    assert str(live.process.pid) in problem
    assert "hermes stop" in problem


@pytest.mark.req("W3", "W4")
async def test_stop_is_planned_and_a_plain_sigterm_asks_for_a_restart(live: Live) -> None:
    code, out, _ = await hermes(live, "stop")
    ended = await live.process.wait()

    assert (code, ended) == (0, 0)
    assert "stopped" in out
    async with live_gateway(live.home) as again:
        assert await again.stop(signal.SIGTERM) == 75


@pytest.mark.req("W3", "W5")
async def test_a_turn_that_outlives_the_drain_goes_on_at_the_next_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url:
        short = {**with_model(url), "HERMES_SERVER__DRAIN_S": "0.2"}
        async with live_gateway(home, short) as live, aiohttp.ClientSession(live.url) as http:
            body = {"sender": "ann", "text": "[[slow:1.5]] wait for it", "id": "long"}
            async with http.post(
                "/api/messages?wait=false", json=body, headers=live.bearer
            ) as accepted:
                assert accepted.status == 202
            await _until_running(live, http)
            assert await live.stop() == 75
        async with live_gateway(home, short) as live, aiohttp.ClientSession(live.url) as http:
            answer = await live.post(http, **body)

    assert (answer["outcome"], answer["duplicate"]) == ("answered", True)


@pytest.mark.req("J2")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
async def test_a_full_disk_refuses_new_keeps_serving_and_says_so(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = await asyncio.create_subprocess_exec(
        "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)
    )
    if await mounted.wait() != 0:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        await _fill_and_check(disk)
    finally:
        await (await asyncio.create_subprocess_exec("umount", "-l", str(disk))).wait()


async def _fill_and_check(disk: Path) -> None:
    reserve = {"HERMES_STORE__DISK_RESERVE_MB": "1"}
    async with (
        model_server() as url,
        live_gateway(disk / "home", {**with_model(url), **reserve}) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        before = await live.post(http, sender="ann", text="hello")
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(b"x" * (free.f_bavail * free.f_frsize - 600_000))
        async with asyncio.timeout(10):
            while True:
                # What was accepted just before ends when there is room again: do not wait for it.
                async with http.post(
                    "/api/messages?wait=false", json={"sender": "ann", "text": "more"}
                ) as answer:
                    if answer.status == 503:
                        break
                await asyncio.sleep(0.1)

        assert float(answer.headers["retry-after"]) > 0
        async with http.get(f"/api/messages/{before['id']}") as stored:
            assert (await stored.json())["reply"] == "#1 hello"
        async with http.get("/readyz") as ready:
            assert ready.status == 503
        _, out, _ = await hermes(live, "status")
        assert "disk" in out
        (disk / "ballast").unlink()
        async with asyncio.timeout(10):
            # The free space is looked at once a second.
            while (await live.post(http, sender="a", text="x")).get("outcome") != "answered":  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def _until_running(live: Live, http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(10):
        while True:
            async with http.get("/control/status", headers=live.bearer) as answer:
                if (await answer.json())["running_turns"] == 1:
                    return
            await asyncio.sleep(0.05)
