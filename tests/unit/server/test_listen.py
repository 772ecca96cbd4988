"""The listening socket: bound first, with clear words when it cannot be."""

import asyncio
import signal
import socket
import subprocess
import sys

import pytest
from starlette.types import Receive, Scope, Send

from hermes.errors import ConfigurationError
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind, serve


async def empty_app(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def ask(listener: socket.socket) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
    writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.req("W1")
def test_a_taken_port_says_which_and_what_to_change() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigurationError) as caught:
            bind("127.0.0.1", port)
    text = str(caught.value)
    assert f"Port {port} on 127.0.0.1 is used" in text
    assert "HERMES_SERVER__PORT" in text
    assert "server.port" in text


@pytest.mark.req("W1")
def test_an_address_of_another_machine_is_explained() -> None:
    with pytest.raises(ConfigurationError, match=r"192\.0\.2\.1 port 0.*HERMES_SERVER__HOST"):
        bind("192.0.2.1", 0)


@pytest.mark.req("W1")
def test_the_address_can_be_opened() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with bind("0.0.0.0", 0) as wide:
        assert address_of(wide).startswith("http://127.0.0.1:")


@pytest.mark.req("W3")
async def test_it_serves_until_stopped_and_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    listener = bind("127.0.0.1", 0)
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(empty_app, listener, settings=ServeSettings(), stop=stop))
    answer = await ask(listener)
    assert answer.startswith(b"HTTP/1.1 204")
    assert b"server:" not in answer.lower()
    assert signal.getsignal(signal.SIGTERM) is before
    stop.set()
    await serving
    assert listener.fileno() == -1


@pytest.mark.req("W3")
async def test_a_stop_lets_running_requests_finish() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow_app(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        await leave.wait()
        await empty_app(scope, receive, send)

    listener = bind("127.0.0.1", 0)
    server = HttpServer(slow_app, listener, settings=ServeSettings())
    serving = asyncio.create_task(server.serve())
    asking = asyncio.create_task(ask(listener))
    await entered.wait()
    server.stop()
    leave.set()
    assert (await asking).startswith(b"HTTP/1.1 204")
    await serving


@pytest.mark.req("W1")
def test_the_process_may_open_as_many_files_as_the_system_allows() -> None:
    program = (
        "import resource; from hermes.net.open_files import raise_open_files; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 500)); raise_open_files(); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    warned, limits = ended.stdout.strip().splitlines()
    assert "few_open_files" in warned
    assert "LimitNOFILE=65536" in warned
    assert (limits, ended.stderr) == ("(500, 500)", "")


@pytest.mark.req("W1")
async def test_a_connection_over_the_limit_is_answered_and_closed() -> None:
    listener, stop, leave = bind("127.0.0.1", 0), asyncio.Event(), asyncio.Event()
    entered = asyncio.Semaphore(0)

    async def holding_app(scope: Scope, receive: Receive, send: Send) -> None:
        entered.release()
        await leave.wait()
        await empty_app(scope, receive, send)

    settings = ServeSettings(connections=1, stop_s=1)
    serving = asyncio.create_task(serve(holding_app, listener, settings=settings, stop=stop))
    # One place, and 64 more for programs of this machine.
    asking = []
    for _ in range(65):
        asking.append(asyncio.create_task(ask(listener)))
        await entered.acquire()
    reader, writer = await asyncio.open_connection(*listener.getsockname()[:2])
    assert (await reader.read()).startswith(b"HTTP/1.1 503")
    writer.close()
    leave.set()
    answers = await asyncio.gather(*asking)
    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 204"] * 65
    assert (await ask(listener)).startswith(b"HTTP/1.1 204")
    stop.set()
    await serving
