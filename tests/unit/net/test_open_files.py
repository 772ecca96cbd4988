"""Where no file is left: calls wait for one, new connections are refused, the log says what to do."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from hermes.errors import ConnectFailed
from hermes.net.client import HttpClient, HttpSettings
from hermes.net.open_files import FileShortage, open_files_limit
from hermes.ops.doctor_home import files_check
from hermes.ops.instance import LockHolder, RunningGateway
from hermes.server.connection_limits import ConnectionLimits
from hermes.testing.manual_time import ManualClock
from tests.unit.net.loopback import answer, serving

NO_FILES = OSError(errno.EMFILE, "Too many open files")


class Client:
    """A connection that remembers that it was dropped."""

    is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


@contextmanager
def limited(files: int) -> Iterator[None]:
    """Let this process open no file whose number is `files` or more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def lowest_free_number() -> int:
    number = os.dup(0)
    os.close(number)
    return number


@pytest.mark.req("W1", "A26")
async def test_a_call_without_a_file_waits_until_there_is_one() -> None:
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"hello"))

    files = FileShortage(ManualClock().monotonic, pauses_s=(0.0, 0.0))
    made = HttpClient(HttpSettings(timeout_s=30), files=files)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    files.on_shortage(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, before))
    async with serving(handle) as port:
        # Both sessions exist before the files are gone.
        made.session(trusted=True)
        with capture_logs() as logs, limited(lowest_free_number()):
            call = made.request("model", "GET", f"http://127.0.0.1:{port}/", trusted=True)
            async with call as response:
                told = await response.read(100)
    await made.close()

    assert told == b"hello"
    assert [line["event"] for line in logs] == ["no_files_left"]
    assert "LimitNOFILE=65536" in logs[0]["fix"]


@pytest.mark.req("W1", "A26")
async def test_a_call_gives_up_where_no_file_becomes_free() -> None:
    files = FileShortage(ManualClock().monotonic, pauses_s=(0.0, 0.0))
    tried: list[None] = []
    files.on_shortage(lambda: tried.append(None))
    made = HttpClient(HttpSettings(timeout_s=30), files=files)
    made.session(trusted=True)
    with capture_logs(), limited(lowest_free_number()), pytest.raises(ConnectFailed):
        async with made.request("model", "GET", "http://127.0.0.1:9/", trusted=True):
            pass
    await made.close()

    assert len(tried) == 2


@pytest.mark.req("W1")
def test_new_connections_are_refused_while_a_call_lacks_a_file() -> None:
    clock = ManualClock()
    files = FileShortage(clock.monotonic)
    places = ConnectionLimits(10, per_address=10, monotonic=clock.monotonic, files=files)
    idle, busy = Client(), Client()
    places.admit(idle, "local")
    places.admit(busy, "local")
    places.heard(busy)

    with capture_logs() as logs:
        known = [files.caused(NO_FILES), files.caused(NO_FILES), files.caused(ValueError("no"))]
    refused = places.admit(Client(), "192.0.2.7")
    clock.advance(6)

    assert known == [True, True, False]
    assert [line["event"] for line in logs] == ["no_files_left"]
    assert (idle.is_dropped, busy.is_dropped) == (True, False)
    assert not refused
    assert places.admit(Client(), "192.0.2.7")


@pytest.mark.req("W1", "W7")
def test_a_few_programs_of_this_machine_get_in_while_files_are_missing() -> None:
    files = FileShortage(ManualClock().monotonic)
    places = ConnectionLimits(10, per_address=10, monotonic=lambda: 0.0, files=files)
    here = [Client() for _ in range(5)]

    with capture_logs():
        files.caused(NO_FILES)
        admitted = [places.admit(client, "local") for client in here]
        # What makes room for calls does not close them.
        files.caused(NO_FILES)
        places.leave(here[0], "local")
        again = places.admit(Client(), "local")

    assert admitted == [True, True, True, True, False]
    assert not any(client.is_dropped for client in here)
    assert again


@pytest.mark.req("W1")
def test_a_new_connection_does_not_get_one_of_the_last_files() -> None:
    clock = ManualClock()
    most = open_files_limit()
    files = FileShortage(clock.monotonic)
    places = ConnectionLimits(10, per_address=10, monotonic=clock.monotonic, files=files)

    with capture_logs() as logs:
        assert places.admit(Client(), "192.0.2.7", descriptor=most - 33)
        assert not places.admit(Client(), "192.0.2.7", descriptor=most - 32)

    assert [line["event"] for line in logs] == ["no_files_left"]


@pytest.mark.req("W7")
def test_the_doctor_knows_how_many_files_the_gateway_may_open() -> None:
    here = LockHolder(pid=os.getpid(), kind="gateway", argv=(), start_time=None)
    with limited(900):
        low = files_check(RunningGateway(here, None))
    high = files_check(None)

    assert (low.status, low.what) == ("warn", "the gateway may open 900 files and connections")
    assert "ulimit -n 65536" in low.fix
    assert high.status == "ok"
