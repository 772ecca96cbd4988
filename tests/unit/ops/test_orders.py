"""W3, W4: what each signal means, with and without a marker."""

import os
import signal
import subprocess
import sys

import msgspec
import pytest

from hermes.app.run import EndRequest, ProcessSignals
from hermes.app.run_state import ShutdownCause
from hermes.config.machine import Supervisor, supervisor_of
from hermes.errors import AlreadyRunning, ConfigurationError, Conflict
from hermes.ops.instance import GatewayAddress, PlannedStop, acquire, find_running
from hermes.ops.takeover import take_over
from hermes.ports.clock import SystemClock

STUBBORN = """
import signal, sys
from pathlib import Path
from hermes.ops.instance import acquire
signal.signal(signal.SIGTERM, signal.SIG_IGN)
acquire(Path(sys.argv[1]))
print("ready", flush=True)
signal.pause()
"""


def orders(
    marker=None, *, on_terminal=False, reload=lambda: None
) -> tuple[EndRequest, ProcessSignals]:
    request = EndRequest()
    signals = ProcessSignals(
        request, on_terminal=on_terminal, take_marker=lambda: marker, reload=reload
    )
    return request, signals


@pytest.mark.req("W3", "W4")
@pytest.mark.parametrize(
    ("number", "marker", "code", "is_expected"),
    [
        (signal.SIGTERM, None, 75, False),
        (signal.SIGTERM, "stop", 0, True),
        (signal.SIGTERM, "takeover", 0, True),
        (signal.SIGUSR1, None, 75, True),
        (signal.SIGINT, None, 0, True),
    ],
)
async def test_the_exit_code_of_every_signal(number, marker, code, is_expected):
    request, signals = orders(marker)

    signals.received(number)

    ending = await request.wait()
    assert (ending.exit_code, ending.is_expected, ending.signal) == (code, is_expected, number.name)


@pytest.mark.req("W3")
async def test_a_restart_request_exits_75_and_the_first_order_counts():
    request, signals = orders("stop")

    assert request.restart("/restart by rest:ann")
    signals.received(signal.SIGTERM)

    ending = await request.wait()
    assert (ending.exit_code, ending.reason) == (75, "/restart by rest:ann")
    assert not request.hurry.is_set(), "`hermes stop` only waits along"


@pytest.mark.req("W3")
async def test_a_second_unmarked_signal_hurries():
    request, signals = orders()

    signals.received(signal.SIGTERM)
    assert not request.hurry.is_set()
    signals.received(signal.SIGTERM)

    assert request.hurry.is_set()


@pytest.mark.req("W3")
async def test_sighup_reloads_but_ends_a_gateway_whose_terminal_is_gone():
    reloads = []
    _, served = orders(reload=lambda: reloads.append(1))
    ending, at_terminal = orders(on_terminal=True)

    served.received(signal.SIGHUP)
    at_terminal.received(signal.SIGHUP)

    assert reloads == [1]
    assert (await ending.wait()).exit_code == 0


@pytest.mark.req("W3")
async def test_sighup_reloads_nothing_once_the_gateway_ends():
    reloads = []
    _, signals = orders(reload=lambda: reloads.append(1))

    signals.received(signal.SIGTERM)
    signals.received(signal.SIGHUP)

    assert reloads == []


@pytest.mark.req("W4")
def test_a_takeover_marker_counts_once_for_one_process_and_one_minute(tmp_path):
    instance = acquire(tmp_path)
    mine = PlannedStop(
        pid=instance.identity.pid, start_time=instance.identity.start_time, written_at=1000.0
    )
    path = tmp_path / "run" / "takeover.json"

    def taken(marker: PlannedStop, now: float) -> str | None:
        path.write_bytes(msgspec.json.encode(marker))
        return instance.take_marker(now)

    assert taken(mine, 1060.0) == "takeover"
    assert instance.take_marker(1060.0) is None, "it is used up"
    assert taken(mine, 1060.1) is None, "too old"
    assert taken(msgspec.structs.replace(mine, start_time=1), 1000.0) is None, "a reused pid"
    instance.release()


@pytest.mark.req("W4")
def test_a_gateway_that_does_not_react_is_made_to_end_before_the_home_is_taken(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", STUBBORN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    told: list[str] = []

    take_over(
        tmp_path,
        drain_s=0.0,
        clock=SystemClock(),
        tell=told.append,
        grace_s=0.05,
    )

    assert holder.wait(5) == -signal.SIGKILL
    holder.communicate()
    assert len(told) == 3
    assert find_running(tmp_path) is None
    acquire(tmp_path).release()


@pytest.mark.req("W8")
def test_what_a_supervisor_says_is_read_for_this_process_only():
    given = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}

    assert supervisor_of(given, 7) == Supervisor("/run/x", 60.0, restarts=True)
    assert supervisor_of(given, 8) == Supervisor("/run/x", 0.0, restarts=True)
    assert supervisor_of({"WATCHDOG_USEC": "soon"}, 7) == Supervisor()


@pytest.mark.req("W3")
@pytest.mark.parametrize(
    ("environ", "restarts"),
    [
        ({}, False),
        ({"NOTIFY_SOCKET": "/run/notify"}, True),
        ({"INVOCATION_ID": "4a1f"}, True),
        ({"INVOCATION_ID": "4a1f", "SYSTEMD_EXEC_PID": "7"}, True),
        ({"INVOCATION_ID": "4a1f", "SYSTEMD_EXEC_PID": "8"}, False),
    ],
    ids=["plain", "notify", "service", "this service", "a shell of a terminal that is a service"],
)
def test_who_starts_a_gateway_again(environ, restarts):
    assert supervisor_of(environ, 7).restarts is restarts


@pytest.mark.req("W3")
@pytest.mark.parametrize(
    ("number", "marker", "code"),
    [(signal.SIGTERM, "stop", 0), (signal.SIGINT, None, 0), (signal.SIGTERM, None, 75)],
)
async def test_whoever_stops_a_gateway_that_restarts_means_the_next_one_too(number, marker, code):
    request = EndRequest(replaces=True)
    instead: list[ShutdownCause] = []
    request.on_stop_instead = instead.append
    signals = ProcessSignals(
        request, on_terminal=False, take_marker=lambda: marker, reload=lambda: None
    )

    signals.received(signal.SIGUSR1)
    signals.received(signal.SIGUSR1)
    signals.received(number)

    ending = await request.wait()
    assert (ending.exit_code, ending.replaces) == (code, False)
    assert [(one.exit_code, one.replaces) for one in instead] == [(code, False)]


@pytest.mark.req("W3")
async def test_a_gateway_that_would_not_start_again_does_not_restart():
    def check():
        raise ConfigurationError("config.yaml: unknown key server.prot")

    request = EndRequest(replaces=True, check=check)

    with pytest.raises(Conflict, match="would not start again"):
        request.restart("/restart by rest:ann")

    assert not request.is_made


@pytest.mark.req("W3", "W4")
def test_a_restart_never_lets_go_of_its_home(tmp_path):
    first = acquire(tmp_path)
    first.publish(GatewayAddress(host="h", port=1, token="t", version="1", started_at=0.0))

    lock = first.hand_over()

    with pytest.raises(AlreadyRunning):
        acquire(tmp_path)
    running = find_running(tmp_path)
    assert running is not None
    assert running.address is None, "the address of the old one is gone"
    second = acquire(tmp_path, inherited=lock)
    assert not os.get_inheritable(lock)
    second.release()
    assert find_running(tmp_path) is None


@pytest.mark.req("W4")
def test_a_descriptor_of_something_else_is_no_lock(tmp_path):
    with (tmp_path / "other").open("wb") as other:
        held = acquire(tmp_path)

        with pytest.raises(AlreadyRunning):
            acquire(tmp_path, inherited=other.fileno())

        held.release()


@pytest.mark.req("W4")
@pytest.mark.parametrize(("valid_s", "wanted"), [(60.0, None), (120.0, "stop")])
def test_an_announced_stop_counts_as_long_as_the_settings_say(valid_s, wanted, tmp_path):
    held = acquire(tmp_path)
    marker = PlannedStop(
        pid=held.identity.pid, start_time=held.identity.start_time, written_at=1000.0
    )
    (tmp_path / "run" / "planned-stop.json").write_bytes(msgspec.json.encode(marker))

    assert held.take_marker(1100.0, valid_s=valid_s) == wanted
    held.release()
