"""W3 to W7: the life of a real gateway process, ended in every way there is, under load."""

import asyncio
import json
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import aiohttp
import msgspec
import pytest

from hermes.control.status import Runtime
from hermes.ops.forensics import Shutdown
from hermes.ops.process import own_identity
from hermes.pipeline.resume import TOLD
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import SampleSettings
from hermes.testing.push.webhooks import InboundMessage, event_body, sign
from tests.system.live import (
    Live,
    cold_gateway,
    model_server,
    run_command,
    with_model,
)

WAIT_S = 20.0


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not claim():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.02)


async def post(live: Live, http: aiohttp.ClientSession, name: str, text: str) -> None:
    body = {"sender": name, "conversation": name, "text": text, "id": name}
    async with http.post(
        f"{live.url}/api/messages?wait=false", json=body, headers=live.bearer
    ) as answer:
        assert answer.status == 202, await answer.text()


async def post_all(
    live: Live, http: aiohttp.ClientSession, names: Iterable[str], *, text: str
) -> None:
    await asyncio.gather(*(post(live, http, name, f"{text} {name}") for name in names))


async def answers(
    live: Live, http: aiohttp.ClientSession, names: Iterable[str], *, text: str
) -> dict[str, tuple[object, object]]:
    """Ask for each message again, under its own id: what became of it?"""

    async def ask(name: str) -> tuple[str, tuple[object, object]]:
        said = {"sender": name, "conversation": name, "text": f"{text} {name}", "id": name}
        told = await live.post(http, **said)
        return name, (told["outcome"], told["duplicate"])

    return dict(await asyncio.gather(*(ask(name) for name in names)))


async def running(live: Live, http: aiohttp.ClientSession) -> int:
    async with http.get(f"{live.url}/control/status", headers=live.bearer) as answer:
        return int((await answer.json())["running_turns"])


async def until_running(live: Live, http: aiohttp.ClientSession, count: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while await running(live, http) != count:  # noqa: ASYNC110  another process does it
            await asyncio.sleep(0.02)


def shutdown_of(home: Path) -> Shutdown:
    return msgspec.json.decode(
        (home / "logs" / "gateway_shutdown.json").read_bytes(), type=Shutdown
    )


def runtime_of(home: Path) -> Runtime:
    return msgspec.json.decode((home / "run" / "status.json").read_bytes(), type=Runtime)


def calls(count_file: Path) -> Counter[str]:
    lines = count_file.read_text().splitlines()
    return Counter(json.loads(line)["text"].split()[-1] for line in lines)


async def hermes(home: Path, *arguments: str) -> tuple[int, str]:
    done = await run_command(home, *arguments, is_merged=True)
    return done.returncode, done.stdout


TWENTY = [f"p{number}" for number in range(20)]


@pytest.mark.req("W3", "W6", "W7")
async def test_sigterm_lets_twenty_running_turns_finish_and_leaves_what_was_going_on(
    tmp_path: Path,
) -> None:
    home, count_file = tmp_path / "home", tmp_path / "calls.jsonl"
    async with (
        model_server("--count-file", str(count_file)) as url,
        aiohttp.ClientSession() as http,
    ):
        async with cold_gateway(home, with_model(url)) as live:
            await post_all(live, http, TWENTY, text="[[slow:1]]")
            await until_running(live, http, 20)

            assert await live.stop() == 75

        left = shutdown_of(home)
        assert (left.signal, left.exit_code, left.cut_off) == ("SIGTERM", 75, 0)
        assert len(left.turns) == len(left.sessions) == 20
        assert runtime_of(home).state == "stopped"
        async with cold_gateway(home, with_model(url)) as live:
            found = await answers(live, http, TWENTY, text="[[slow:1]]")

    assert found == dict.fromkeys(TWENTY, ("answered", True))
    assert calls(count_file) == Counter(TWENTY)


@pytest.mark.req("W3", "W5")
async def test_twenty_turns_that_outlive_the_drain_are_each_answered_once_by_the_next_process(
    tmp_path: Path,
) -> None:
    home, count_file = tmp_path / "home", tmp_path / "calls.jsonl"
    async with (
        model_server("--count-file", str(count_file)) as url,
        aiohttp.ClientSession() as http,
    ):
        short = {**with_model(url), "HERMES_SERVER__DRAIN_S": "0.1"}
        async with cold_gateway(home, short) as live:
            await post_all(live, http, TWENTY, text="[[slow:1.5]]")
            await until_running(live, http, 20)
            await until(lambda: len(calls(count_file)) == 20)
            assert await live.stop() == 75
        assert shutdown_of(home).cut_off == 20
        async with cold_gateway(home, short) as live:
            found = await answers(live, http, TWENTY, text="[[slow:1.5]]")

    assert found == dict.fromkeys(TWENTY, ("answered", True))
    assert calls(count_file) == Counter(TWENTY * 2), "a call that was cut off is made once more"


@pytest.mark.req("W3")
async def test_a_second_sigterm_hurries_and_a_restart_request_is_no_accident(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with model_server() as url, aiohttp.ClientSession() as http:
        async with cold_gateway(home, with_model(url)) as live:
            await post(live, http, "ann", "[[slow:60]] a")
            await until_running(live, http, 1)
            live.process.send_signal(signal.SIGUSR1)
            await until(lambda: runtime_of(home).state == "draining")
            code, told = await hermes(home, "status")
            assert (code, "draining" in told) == (0, True)

            assert await live.stop() == 75
        assert not (home / "logs" / "gateway_shutdown.json").exists()
        async with cold_gateway(tmp_path / "idle", with_model(url)) as live:
            assert await live.stop(signal.SIGINT) == 0


@pytest.mark.req("W4", "W5", "W6", "W7")
async def test_after_kill_9_the_next_start_says_so_and_goes_on(tmp_path: Path) -> None:
    home, count_file = tmp_path / "home", tmp_path / "calls.jsonl"
    async with (
        model_server("--count-file", str(count_file)) as url,
        aiohttp.ClientSession() as http,
    ):
        async with cold_gateway(home, with_model(url)) as live:
            await post(live, http, "ann", "[[slow:1]] ann")
            await until(lambda: calls(count_file) == {"ann": 1})
            killed = live.process.pid
            live.process.kill()
            await live.process.wait()
        code, told = await hermes(home, "status")
        assert code == 3
        assert f"pid {killed}) died unexpectedly while it was connected" in told
        async with cold_gateway(home, with_model(url)) as live:
            found = await answers(live, http, ["ann"], text="[[slow:1]]")

    left = shutdown_of(home)
    assert found == {"ann": ("answered", True)}
    assert (left.pid, left.signal, len(left.sessions)) == (killed, None, 1)


@pytest.mark.req("W4")
async def test_replace_under_load_loses_nothing_answers_once_and_never_has_two_owners(
    tmp_path: Path,
) -> None:
    home, count_file = tmp_path / "home", tmp_path / "calls.jsonl"
    names = [f"q{number}" for number in range(60)]
    async with (
        model_server("--count-file", str(count_file)) as url,
        aiohttp.ClientSession() as http,
        cold_gateway(home, with_model(url)) as old,
    ):
        accepted: list[str] = []

        async def keep_writing() -> None:
            for name in names:
                body = {
                    "sender": name,
                    "conversation": name,
                    "id": name,
                    "text": f"[[slow:0.2]] {name}",
                }
                while not await _accepted(http, home, body):  # noqa: ASYNC110  until it is taken
                    await asyncio.sleep(0.05)
                accepted.append(name)
                await asyncio.sleep(0.02)

        writing = asyncio.create_task(keep_writing())
        await until(lambda: len(accepted) >= 10)
        old_was_alive: list[bool] = []

        async def watch_the_owner() -> None:
            while runtime_of(home).pid == old.process.pid:  # noqa: ASYNC110  the other one does it
                await asyncio.sleep(0.002)
            old_was_alive.append(old.process.returncode is None and _is_there(old.process.pid))

        watching = asyncio.create_task(watch_the_owner())
        async with cold_gateway(home, with_model(url), "--replace") as new:
            assert await asyncio.wait_for(old.process.wait(), WAIT_S) == 0
            await watching
            await asyncio.wait_for(writing, WAIT_S)
            found = await answers(new, http, names, text="[[slow:0.2]]")

    assert old_was_alive == [False]
    assert found == dict.fromkeys(names, ("answered", True))
    assert calls(count_file) == Counter(names)


async def _accepted(http: aiohttp.ClientSession, home: Path, body: dict[str, str]) -> bool:
    try:
        address = json.loads((home / "run" / "gateway.json").read_text())
        async with http.post(
            f"http://{address['host']}:{address['port']}/api/messages?wait=false",
            json=body,
            headers={"authorization": f"Bearer {address['token']}"},
        ) as answer:
            return answer.status in {200, 202}
    except (OSError, aiohttp.ClientError, ValueError):
        return False


def _is_there(pid: int) -> bool:
    """Tell whether a process still runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.req("W4")
async def test_a_stranger_with_the_pid_of_a_dead_gateway_is_neither_stopped_nor_replaced(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    (home / "run").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    stranger = await asyncio.create_subprocess_exec("sleep", "600")
    faked = msgspec.structs.replace(own_identity("hermes-gateway"), pid=stranger.pid)
    (home / "run" / "gateway.pid").write_bytes(msgspec.json.encode(faked))
    try:
        code, told = await hermes(home, "stop")
        assert (code, "not running" in told) == (0, True)
        async with cold_gateway(home, {}, "--replace"):
            assert stranger.returncode is None
            assert _is_there(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()


@pytest.mark.req("W5", "W7", "A31")
async def test_a_gateway_that_crashes_again_and_again_leaves_what_ran_alone_and_says_so(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with model_server() as url, aiohttp.ClientSession() as http:
        # The first turn with tools waits for the rules of the gate before it begins.
        gate_off = {"HERMES_TOOLS__GATE__MODE": "off"}
        nervous = {**with_model(url), **gate_off, "HERMES_PROCESS__CRASH_STARTS": "2"}
        for number in range(2):
            async with cold_gateway(home, nervous) as live:
                if not number:
                    await post(live, http, "ann", "[[slow:60]] ann")
                await until_running(live, http, 1)
                live.process.kill()
                await live.process.wait()
        async with cold_gateway(home, nervous) as live:
            found = await answers(live, http, ["ann"], text="[[slow:60]]")
            fresh = await live.post(http, sender="ann", conversation="ann", text="hello")
            _, told = await hermes(home, "status")
            logged = live.said()
        _, alerts = await hermes(home, "alerts", "--kind", "boot_loop")

    assert found == {"ann": ("failed", True)}
    assert fresh["reply"] == "#1 hello"
    assert "crashed 2 times within 10 minutes" in told
    assert "boot_loop" in logged
    assert "crashed 2 times within 10 minutes" in alerts


@pytest.mark.req("W3")
async def test_a_chat_whose_turn_is_cut_off_is_told_and_gets_its_reply_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    pigeon = SamplePlatform(SampleSettings(token="t", signing_secret="s", chats=("c1",)))
    await pigeon.start()
    async with model_server() as url, aiohttp.ClientSession() as http:
        more = {**with_model(url), **_pigeon(pigeon), "HERMES_SERVER__DRAIN_S": "0.3"}
        async with cold_gateway(home, more) as live:
            await until(lambda: runtime_of(home).channels[0].state == "connected")
            await _write(live, http, "[[slow:1.5]] hi")
            await until_running(live, http, 1)
            assert await live.stop() == 75
        assert [post.text for post in pigeon.state.posted] == [TOLD]
        async with cold_gateway(home, more) as live:
            await until(lambda: pigeon.state.posted[-1].text.endswith(" hi"))
            assert await live.stop(signal.SIGINT) == 0
    await pigeon.stop()

    assert [post.text for post in pigeon.state.posted] == [TOLD, "#1 [[slow:1.5]] hi"]
    assert [one.state for one in runtime_of(home).channels] == ["stopped"]


def _pigeon(pigeon: SamplePlatform) -> dict[str, str]:
    extra = {"base_url": pigeon.base_url, "token": "t", "signing_secret": "s", "edit": "false"}
    settings = {f"EXTRA__{name.upper()}": value for name, value in extra.items()}
    settings |= {"ENABLED": "true", "UNKNOWN": "allow"}
    return {
        "HERMES_PLUGINS": '["hermes.testing.push.plugin"]',
        **{f"HERMES_PLATFORMS__PIGEON__{name}": value for name, value in settings.items()},
    }


async def _write(live: Live, http: aiohttp.ClientSession, text: str) -> None:
    message = InboundMessage(chat="c1", user="c1", text=text, event_id="e1")
    body, stamp = event_body(message, sent_at=1.0), f"{runtime_of(live.home).at * 1000:.0f}"
    headers = {
        "Content-Type": "application/json",
        "X-Pigeon-Timestamp": stamp,
        "X-Pigeon-Signature": sign("s", stamp, body=body),
    }
    async with http.post(f"{live.url}/webhooks/pigeon", data=body, headers=headers) as answer:
        assert answer.status == 200, await answer.text()


@pytest.mark.req("W8")
async def test_a_supervisor_is_told_ready_alive_and_stopping(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(address)
        told.settimeout(WAIT_S)
        more = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "300000"}
        async with cold_gateway(tmp_path / "home", more) as live:
            await until(lambda: "Ctrl-C" in live.said())
            first = [told.recv(200).decode().split("\n")[0] for _ in range(2)]
            assert await live.stop(signal.SIGINT) == 0
            told.setblocking(False)
            rest = []
            while "STOPPING=1" not in rest:
                rest.append(told.recv(200).decode().split("\n")[0])

    assert first == ["READY=1", "WATCHDOG=1"]
    assert set(rest) <= {"WATCHDOG=1", "STOPPING=1"}


@pytest.mark.req("W1")
async def test_reload_takes_over_what_it_can_and_names_what_needs_a_restart(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with cold_gateway(home) as live:
        config = home / "config.yaml"
        config.write_text("logs: {level: debug}\nlanes: {max_attempts: 7}\n")
        config.chmod(0o600)

        _, told = await hermes(home, "reload")
        config.write_text("logs: {level: warning}\nlanes: {max_attempts: 7}\n")
        live.process.send_signal(signal.SIGHUP)
        await until(lambda: '"reloaded"' in live.said())
        config.write_text("logs: {level: nonsense}\n")
        code, refused = await hermes(home, "reload")

    assert "Applied: logs.level" in told
    assert "Needs a restart: lanes.max_attempts" in told
    assert (code, "Nothing was changed" in refused) == (1, True)
