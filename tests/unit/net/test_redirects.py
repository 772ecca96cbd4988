"""Chains of redirects: where they may lead, and what is taken along."""

from collections.abc import Mapping

import pytest
from yarl import URL

from hermes.errors import AddressRefused
from hermes.net.guard import Guard
from hermes.net.redirects import Hop, next_hop
from hermes.net.untrusted_url import read_url
from tests.unit.net.hostile_addresses import CLOSED_INSIDE, CLOSED_SPELLINGS, CLOSED_URLS

SECRETS = {
    "Authorization": "Bearer x",
    "Cookie": "x",
    "X-Api-Key": "x",
    "X-Goog-Api-Key": "x",
    "Api-Key": "x",
    "Proxy-Authorization": "x",
    "X-Amz-Security-Token": "x",
    "X-Anything": "x",
}
# Each chain begins at its first address; what follows are the Location headers.
REFUSED_CHAINS = [
    ("https://example.com/", "http://127.0.0.1/"),
    ("https://example.com/", "https://127.0.0.1/"),
    ("https://example.com/", "//127.0.0.1/"),
    ("https://example.com/", "//[::1]/"),
    ("https://example.com/", "https://[::ffff:10.0.0.1]/"),
    ("https://example.com/", "https://169.254.169.254/latest/meta-data/"),
    ("https://example.com/", "/next", "http://10.0.0.1/"),
    ("https://example.com/", "https://example.org/", "https://example.net/", "http://192.168.0.1/"),
    ("http://example.com/", "https://example.com/", "//2130706433/"),
    ("http://example.com/", "https://user:pass@example.com/"),
    ("http://example.com/", "https://example.com@127.0.0.1/"),
    ("http://example.com/", "http://example.com:22/"),
    ("http://example.com/", "http://example.com:6379/"),
    ("http://example.com/", "http:\\\\127.0.0.1\\"),
    ("http://example.com/", "\\\\127.0.0.1\\"),
    ("http://example.com/", "/\\127.0.0.1"),
    ("http://example.com/", "http://0x7f.1/"),
    ("http://example.com/", "http://１２７.0.0.1/"),
    ("http://example.com/", "file:///etc/passwd"),
    ("http://example.com/", "gopher://example.com/"),
    ("http://example.com/", "javascript:alert(1)"),
    ("http://example.com/", "data:text/html,x"),
    ("http://example.com/", "http://[::1"),
    ("http://example.com/", "http://exa\tmple.com/"),
    ("http://example.com/", "/" + "x" * 5000),
    ("https://example.com/", "http://example.com:8080/"),
    ("https://example.com:8443/", "http://example.com:8443/"),
]
FOLLOWED_CHAINS = [
    (("http://example.com/a/b?c", "d"), "http://example.com/a/d"),
    (("http://example.com/a", "?q=1"), "http://example.com/a?q=1"),
    (("http://example.com/a", "//example.org/x"), "http://example.org/x"),
    (("http://example.com/", "https://example.com/"), "https://example.com/"),
    (("https://example.com/", "http://example.org/x"), "https://example.org/x"),
    (("https://example.com/", "http://example.org:80/x"), "https://example.org/x"),
    (("https://example.com/", "/a", "../b", "https://example.org/c"), "https://example.org/c"),
    (("http://example.com/", "http:/127.0.0.1/"), "http://example.com/127.0.0.1/"),
    (("http://example.com/", "///127.0.0.1/"), "http://example.com/127.0.0.1/"),
    (("http://example.com/", "/@127.0.0.1"), "http://example.com/@127.0.0.1"),
    (("http://example.com/", "/a b"), "http://example.com/a%20b"),
]


def first(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Hop:
    return Hop(method=method, url=URL(url), headers=headers or {}, body=body)


def walk(start: Hop, *locations: str, status: int = 302) -> Hop:
    hop = start
    for location in locations:
        following = next_hop(hop, status, location=location, guard=Guard())
        assert following is not None
        hop = following
    return hop


@pytest.mark.req("W34")
@pytest.mark.parametrize("chain", REFUSED_CHAINS, ids=str)
def test_a_chain_that_leads_astray_is_refused(chain):
    *before, last = chain[1:]
    hop = walk(first(chain[0]), *before)

    with pytest.raises(AddressRefused):
        next_hop(hop, 302, location=last, guard=Guard())


@pytest.mark.req("W34")
@pytest.mark.parametrize(("chain", "end"), FOLLOWED_CHAINS, ids=str)
def test_a_chain_is_followed_to_its_end(chain, end):
    hop = walk(first(chain[0]), *chain[1:])

    Guard().check_url(hop.url)
    assert str(hop.url) == str(URL(end))


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "target",
    [
        *(f"http://{host}/" for host in CLOSED_SPELLINGS if host),
        *(f"//[{number}]/" for number in CLOSED_INSIDE),
        *(url for url in CLOSED_URLS if "://127." in url or url.startswith("file:")),
    ],
)
def test_no_spelling_of_a_closed_address_is_reached_by_a_redirect(target):
    with pytest.raises(AddressRefused):
        walk(first("https://example.com/start"), target)


@pytest.mark.req("W34")
@pytest.mark.parametrize("status", [200, 204, 300, 304, 305, 306, 404, 500])
def test_any_other_status_is_the_end(status):
    given = first("http://example.com/")

    assert next_hop(given, status, location="http://127.0.0.1/", guard=Guard()) is None


@pytest.mark.req("W34")
def test_a_redirect_without_a_target_is_the_end():
    assert next_hop(first("http://example.com/"), 302, location=None, guard=Guard()) is None


@pytest.mark.req("W34", "W35")
@pytest.mark.parametrize(
    "target",
    [
        "http://example.org/",
        "https://example.com/",
        "http://example.com:8080/",
        "http://www.example.com/",
    ],
)
def test_another_origin_gets_nothing_but_what_is_asked_for(target):
    asked = {"Accept": "text/html", "accept-encoding": "gzip", "User-Agent": "hermes"}
    start = first("http://example.com/", headers={**SECRETS, **asked})

    assert walk(start, target).headers == asked
    assert walk(start, target, "http://example.com/back").headers == asked


@pytest.mark.req("W34")
def test_the_same_origin_gets_the_same_headers():
    start = first("http://example.com/", headers=SECRETS)

    assert walk(start, "/next", "http://EXAMPLE.com:80/x").headers == SECRETS


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("method", "status", "expected"),
    [
        ("POST", 301, ("GET", None)),
        ("POST", 302, ("GET", None)),
        ("PUT", 303, ("GET", None)),
        ("HEAD", 302, ("HEAD", None)),
        ("POST", 307, ("POST", b"x")),
        ("PUT", 308, ("PUT", b"x")),
    ],
)
def test_a_body_is_sent_again_only_where_the_status_says_so(method, status, expected):
    body = None if method == "HEAD" else b"x"
    hop = walk(first("http://a.example/", method=method, body=body), "/next", status=status)

    assert (hop.method, hop.body) == expected


@pytest.mark.req("W34", "W35")
@pytest.mark.parametrize("status", [307, 308])
def test_a_body_never_goes_to_another_host(status):
    start = first("https://a.example/", method="POST", body=b"secret")

    with pytest.raises(AddressRefused, match="not forwarded"):
        walk(start, "https://b.example/", status=status)


@pytest.mark.req("W34")
def test_bytes_that_are_no_text_make_no_address():
    with pytest.raises(AddressRefused):
        read_url(b"/\xff".decode("utf-8", "surrogateescape"), URL("http://example.com/"))
