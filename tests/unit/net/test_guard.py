"""The guard on addresses that strangers choose (W34): numbers, spellings, ports, and its settings."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.guard import Guard, is_own
from hermes.net.refused_networks import REFUSED
from hermes.net.untrusted_url import read_host, read_url
from tests.unit.net.hostile_addresses import (
    CLOSED_INSIDE,
    CLOSED_NUMBERS,
    CLOSED_PORTS,
    CLOSED_SPELLINGS,
    CLOSED_URLS,
    OPEN_NUMBERS,
    OPEN_PORTS,
    OPEN_URLS,
)

# Reachable by the registry, but relays, name sinks and protocols' own: no web site is there.
SINKS = [
    ipaddress.ip_network(network)
    for network in (
        *("192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24"),
        *("192.88.99.0/24", "168.63.129.16/32"),
    )
]
GIVEN_OUT = [ipaddress.ip_network(network) for network in ("2000::/3", "64:ff9b::/96")]


def check(url: str, guard: Guard | None = None) -> None:
    (guard or Guard()).check_url(read_url(url))


def in_url(number: str) -> str:
    return f"[{number}]" if ":" in number else number


@pytest.mark.req("W34")
@pytest.mark.parametrize("number", [*CLOSED_NUMBERS, *CLOSED_INSIDE])
def test_a_closed_number_is_refused_as_a_number_and_in_an_address(number):
    assert not Guard().allows(number)
    with pytest.raises(AddressRefused):
        check(f"http://{in_url(number)}/")


@pytest.mark.req("W34")
@pytest.mark.parametrize("number", OPEN_NUMBERS)
def test_a_public_number_is_allowed_as_a_number_and_in_an_address(number):
    assert Guard().reason(number) is None
    check(f"http://{in_url(number)}/")


@pytest.mark.req("W34")
@pytest.mark.parametrize("host", CLOSED_SPELLINGS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_might_be_read_as_a_closed_number_or_another_host_is_refused(scheme, host):
    with pytest.raises(AddressRefused):
        check(f"{scheme}://{host}/")


@pytest.mark.req("W34")
@pytest.mark.parametrize("url", CLOSED_URLS)
def test_what_is_no_plain_web_address_is_refused(url):
    with pytest.raises(AddressRefused):
        check(url)


@pytest.mark.req("W34")
@pytest.mark.parametrize("url", OPEN_URLS)
def test_a_plain_web_address_is_allowed(url):
    check(url)


@pytest.mark.req("W34")
@pytest.mark.parametrize("port", CLOSED_PORTS)
def test_a_port_that_is_not_the_webs_is_refused_until_it_is_opened(port):
    with pytest.raises(AddressRefused, match=r"net\.ports"):
        check(f"http://example.com:{port}/")

    check(f"http://example.com:{port}/", Guard(ports=(port,)))


@pytest.mark.req("W34")
@pytest.mark.parametrize("port", OPEN_PORTS)
def test_a_port_of_the_web_is_allowed(port):
    check(f"http://example.com:{port}/")


@pytest.mark.req("W34")
def test_the_tables_hold_150_addresses_and_every_row_of_the_guard():
    closed = [ipaddress.ip_address(number) for number in CLOSED_NUMBERS]

    unproven = [str(r.network) for r in REFUSED if not any(a in r.network for a in closed)]

    assert len({*CLOSED_NUMBERS, *CLOSED_INSIDE, *CLOSED_SPELLINGS, *CLOSED_URLS}) >= 150
    assert unproven == []


@pytest.mark.req("W34")
@given(st.ip_addresses(v=4))
def test_every_ipv4_number_is_judged_as_the_registry_has_it(address):
    is_sink = any(address in sink for sink in SINKS)
    is_public = address.is_global and not address.is_multicast and not address.is_reserved

    assert Guard(owns=lambda _: False).allows(str(address)) == (is_public and not is_sink)


@pytest.mark.req("W34")
@given(st.ip_addresses(v=6))
def test_no_ipv6_number_is_allowed_that_the_registry_closes(address):
    is_given_out = address.is_global and any(address in network for network in GIVEN_OUT)

    assert is_given_out or address.ipv4_mapped or not Guard().allows(str(address))


@pytest.mark.req("W34")
@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:", "64:ff9b::", "2606:4700::5efe:"]))
def test_an_ipv4_number_inside_an_ipv6_number_is_judged_as_itself(address, prefix):
    guard = Guard(owns=lambda _: False)

    assert guard.allows(f"{prefix}{address}") == guard.allows(str(address))


@pytest.mark.req("W34")
@given(st.ip_addresses(v=4).map(int))
def test_a_number_is_read_in_its_one_usual_form_only(number):
    canonical = str(ipaddress.IPv4Address(number))
    octal = ".".join(f"0{int(part):o}" for part in canonical.split("."))

    for spelling in (str(number), hex(number), f"0{number:o}", octal, f"{canonical}."):
        with pytest.raises(AddressRefused):
            read_host(spelling)
    assert str(read_host(canonical)) == canonical


@pytest.mark.req("W34")
@given(st.text(max_size=40) | st.from_regex(r"[0-9xXa-fA-F.]{1,20}", fullmatch=True))
def test_a_host_that_is_taken_for_a_name_is_no_number_to_the_system(text):
    assert not (is_taken_for_a_name(text) and is_number_to_the_system(text))


def is_taken_for_a_name(text: str) -> bool:
    try:
        return read_host(URL(f"http://{text}/").raw_host or "") is None
    except (ValueError, AddressRefused):
        return False


def is_number_to_the_system(text: str) -> bool:
    try:
        socket.inet_aton(URL(f"http://{text}/").raw_host or "")
    except OSError:
        return False
    return True


@pytest.mark.req("W34")
def test_an_exempt_network_is_open_and_nothing_beside_it():
    guard = Guard(("10.1.0.0/16",))

    assert (guard.allows("10.1.2.3"), guard.allows("10.2.2.3")) == (True, False)
    assert (guard.allows("::ffff:10.1.2.3"), guard.allows("64:ff9b::a02:203")) == (True, False)


@pytest.mark.req("W34")
def test_a_metadata_service_is_opened_by_its_own_number_only():
    wide = Guard(("0.0.0.0/0", "::/0"))
    named = Guard(("169.254.169.254/32",))

    assert wide.allows("127.0.0.1")
    assert not wide.allows("169.254.169.254")
    assert not wide.allows("fd00:ec2::254")
    assert (named.allows("169.254.169.254"), named.allows("169.254.169.253")) == (True, False)


@pytest.mark.req("W34")
def test_an_open_translator_does_not_open_what_lies_behind_it():
    guard = Guard(("64:ff9b:1::/48",))

    assert guard.allows("64:ff9b:1::8.8.8.8")
    assert not guard.allows("64:ff9b:1::127.0.0.1")
    assert not guard.allows("64:ff9b:1:7f00:0:100::")


@pytest.mark.req("W34")
def test_a_network_that_the_operator_closes_stays_closed():
    guard = Guard(("10.0.0.0/8",), refuse=("8.8.8.0/24", "10.9.0.0/16"))

    assert not guard.allows("8.8.8.8")
    assert not guard.allows("10.9.0.1")
    assert guard.allows("10.8.0.1")


@pytest.mark.req("W34")
def test_a_number_of_this_machine_is_closed_whatever_network_it_is_from():
    unlisted = Guard(table=())

    assert is_own(ipaddress.ip_address("127.0.0.1"))
    assert not is_own(ipaddress.ip_address("192.0.2.1"))
    assert unlisted.reason("127.0.0.1") == "an address of this machine"
    assert Guard(("127.0.0.0/8",), table=()).allows("127.0.0.1")


@pytest.mark.req("W34")
def test_no_socket_is_made_for_a_closed_number():
    guard = Guard()
    stream = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")

    for target in (("127.0.0.1", 80), ("localhost", 80)):
        with pytest.raises(PermissionError):
            guard.make_socket((socket.AF_INET, *stream, target))
    with pytest.raises(PermissionError):
        guard.make_socket((socket.AF_UNIX, *stream, ("/run/x.sock", 0)))
    guard.make_socket((socket.AF_INET, *stream, ("8.8.8.8", 80))).close()


@pytest.mark.req("W34", "W35")
def test_a_refusal_tells_the_host_and_no_more_of_the_address():
    with pytest.raises(AddressRefused) as caught:
        check("http://192.168.1.1/path-token?key=abc#frag")

    text = str(caught.value)
    assert "192.168.1.1" in text
    assert "net.exempt" in text
    assert not any(word in text for word in ("path-token", "abc", "frag"))
