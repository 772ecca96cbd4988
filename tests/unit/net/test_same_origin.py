"""Which hosts and origins the server answers to."""

import pytest

from hermes.errors import Forbidden
from hermes.http.same_origin import Origins, is_loopback
from hermes.ports.gateway_api import Caller

BROWSER = Caller("browser", "owner")


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("example.org", False),
    ],
)
def test_loopback_addresses(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.req("W34")
def test_a_server_on_the_net_answers_to_any_name() -> None:
    assert Origins(bound_host="0.0.0.0").knows_host("anything.example")


@pytest.mark.req("W34")
def test_without_a_public_address_an_empty_host_is_foreign() -> None:
    assert not Origins(bound_host="127.0.0.1").knows_host("")
    assert not Origins(bound_host="127.0.0.1").knows_host(None)


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://localhost:8080", "localhost:8080", True),
        ("http://LOCALHOST:8080", "localhost:8080", True),
        ("http://localhost", "localhost:80", True),
        ("https://chat.example.org", "10.0.0.1:8080", True),
        ("https://chat.example.org:443", "10.0.0.1:8080", True),
        ("http://chat.example.org", "10.0.0.1:8080", False),
        ("http://localhost:8081", "localhost:8080", False),
        ("http://localhost:8080.evil.example", "localhost:8080", False),
        ("null", "localhost:8080", False),
        ("", "localhost:8080", False),
        ("file://", "localhost:8080", False),
        ("http://", "", False),
    ],
)
def test_only_the_own_page_has_the_same_origin(origin: str, host: str, expected: bool) -> None:
    origins = Origins(bound_host="127.0.0.1", public_url="https://chat.example.org/")
    assert origins.is_same({"origin": origin, "host": host}) is expected


@pytest.mark.req("W34")
def test_a_token_needs_no_origin_and_a_browser_does() -> None:
    origins = Origins(bound_host="127.0.0.1")
    origins.check(Caller("token", "api"), {"host": "localhost"})
    with pytest.raises(Forbidden, match=r"server\.public_url"):
        origins.check(BROWSER, {"host": "localhost"})
    own = {"host": "localhost:1", "origin": "http://localhost:1"}
    origins.check(BROWSER, own)
    with pytest.raises(Forbidden):
        origins.check(BROWSER, {**own, "sec-fetch-site": "same-site"})


@pytest.mark.parametrize(
    ("site", "expected"),
    [("same-origin", True), ("cross-site", False), ("none", False), (None, False)],
)
def test_a_page_that_only_reads_sends_no_origin(site: str | None, expected: bool) -> None:
    origins = Origins(bound_host="127.0.0.1", public_url=None)
    headers = {"host": "localhost:8080"} | ({} if site is None else {"sec-fetch-site": site})
    assert origins.is_same(headers) is expected
