"""Who gets a place among the open connections, and who makes room."""

import pytest
from structlog.testing import capture_logs

from hermes.server.connection_limits import ConnectionLimits, address_key
from hermes.testing.manual_time import ManualClock

ADDRESS = "192.0.2.7"


class Client:
    """A connection that remembers that it was dropped."""

    is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def places(most: int, per_address: int = 100) -> ConnectionLimits:
    return ConnectionLimits(most, per_address=per_address, monotonic=ManualClock().monotonic)


def admit_heard(to: ConnectionLimits, address: str, count: int) -> list[bool]:
    """Admit clients that send a whole head at once."""
    admitted = []
    for _ in range(count):
        client = Client()
        admitted.append(to.admit(client, address))
        to.heard(client)
    return admitted


@pytest.mark.req("W1")
def test_one_address_has_a_limit_of_its_own_and_a_place_that_is_left_is_free() -> None:
    full = places(10, per_address=2)
    first = Client()
    assert full.admit(first, ADDRESS)
    full.heard(first)

    assert admit_heard(full, ADDRESS, 2) == [True, False]
    assert admit_heard(full, "192.0.2.8", 1) == [True]
    full.leave(first, ADDRESS)
    assert admit_heard(full, ADDRESS, 2) == [True, False]


@pytest.mark.req("W1")
def test_the_oldest_silent_connection_makes_room() -> None:
    full = places(3)
    talking, silent, later = Client(), Client(), Client()
    for client in (talking, silent, later):
        full.admit(client, ADDRESS)
    full.heard(talking)

    assert full.admit(Client(), "192.0.2.8")
    assert [one.is_dropped for one in (talking, silent, later)] == [False, True, False]


@pytest.mark.req("W1")
def test_the_connection_that_waits_longest_makes_room_and_one_with_a_request_does_not() -> None:
    full = places(4)
    running, idle, later, silent = Client(), Client(), Client(), Client()
    for client in (running, idle, later):
        full.admit(client, ADDRESS)
        full.heard(client)
    full.idle(running)
    full.idle(idle)
    full.admit(silent, ADDRESS)
    full.idle(later)
    full.heard(running)

    gone = []
    for _ in range(3):
        full.admit(newcomer := Client(), "192.0.2.8")
        full.heard(newcomer)
        gone.append([one.is_dropped for one in (running, idle, silent, later)])
    assert gone == [
        [False, True, False, False],
        [False, True, True, False],
        [False, True, True, True],
    ]
    assert admit_heard(full, "192.0.2.8", 1) == [False]


@pytest.mark.req("W1")
def test_programs_of_this_machine_get_in_when_all_places_are_taken() -> None:
    full = places(3, per_address=2)
    admit_heard(full, ADDRESS, 2)

    assert admit_heard(full, "192.0.2.8", 2) == [True, False]
    assert admit_heard(full, "local", 65) == [True] * 64 + [False]


@pytest.mark.req("W1")
def test_the_log_says_once_a_minute_which_setting_is_reached() -> None:
    clock = ManualClock()
    full = ConnectionLimits(1, per_address=5, monotonic=clock.monotonic)
    clock.advance(100)
    with capture_logs() as logs:
        admit_heard(full, ADDRESS, 4)
        clock.advance(61)
        admit_heard(full, ADDRESS, 1)

    line = {
        "event": "connections_full",
        "limit": "server.max_connections",
        "open": 1,
        "address": ADDRESS,
        "log_level": "warning",
    }
    assert logs == [line, line]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("127.0.0.1", "local"),
        ("::1", "local"),
        ("::ffff:127.0.0.1", "local"),
        (None, "local"),
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_an_address_is_counted_with_those_of_the_same_peer(host: str | None, key: str) -> None:
    assert address_key(host) == key
