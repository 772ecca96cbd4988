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


@pytest.mark.req("W20")
@pytest.mark.parametrize("entry", ["bücher.example", "XN--bcher-kva.example.", "BÜCHER.example"])
@pytest.mark.parametrize("host", ["bücher.example", "xn--bcher-kva.example", "BÜCHER.example."])
def test_a_name_is_the_same_in_letters_and_in_ascii(entry: str, host: str) -> None:
    assert is_listed_link(f"https://{host}/a.png", (entry,))
    assert is_listed_link(f"https://cdn.{host}/a.png", (f"*.{entry}",))
    assert not is_listed_link(f"https://{host}/a.png", (f"*.{entry}",))


@pytest.mark.req("W20")
@pytest.mark.parametrize("entry", ["", "*.", "*", "a b", "example.com:443", "ü" * 80])
def test_an_entry_that_is_no_host_lists_nothing(entry: str) -> None:
    assert not is_listed_link("https://example.com/a.png", (entry,))
    assert not is_listed_link("https://xn--a.example.com/a.png", (entry,))
