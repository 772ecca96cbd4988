"""Which hosts links may be fetched from."""

import pytest

from hermes.message.link_hosts import is_listed_link

HOSTS = ("example.com", "*.example.org", "Files.Example.NET")


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://example.com/a.png", True),
        ("https://EXAMPLE.com./a.png", True),
        ("https://example.com:8443/a.png", True),
        ("https://files.example.net/", True),
        ("https://cdn.example.org/a.png", True),
        ("https://a.b.example.org/", True),
        ("https://example.org/", False),
        ("https://.example.org/", False),
        ("https://notexample.org/", False),
        ("https://www.example.com/", False),
        ("https://example.com.evil.test/", False),
        ("https://evil.test/?example.com", False),
        ("https://example.com@evil.test/", False),
        ("https://[::1/", False),
        ("https:///a.png", False),
    ],
)
def test_a_link_is_listed_by_its_host_alone(url: str, listed: bool) -> None:
    assert is_listed_link(url, HOSTS) is listed
    assert not is_listed_link(url, ())
