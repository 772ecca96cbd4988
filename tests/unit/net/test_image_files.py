"""Images by value: what a data URL holds, and what is wrong with one that holds none."""

import base64

import pytest

from hermes.errors import ProviderRejected
from hermes.media.image_files import inline_image, is_too_large
from hermes.message.inline_file import InlineFile

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;base64,{PNG}",
        f"DATA:image/PNG;name=a.png;Base64,{PNG}",
        f"data:image/png;base64,{PNG[:4]}\r\n {PNG[4:]}",
        f"data:image/png;base64,{PNG.replace('=', '%3D').replace('/', '%2F')}",
        "data:image/png,%89PNG%0D%0A%1A%0A",
    ],
)
def test_the_same_image_is_found_however_it_is_written(url):
    found = inline_image(url)

    assert found == InlineFile("image/png", PNG)
    assert found.url == f"data:image/png;base64,{PNG}"


@pytest.mark.req("M7")
@pytest.mark.parametrize("url", [None, "https://example.org/a.png", "http://data:80/a"])
def test_any_other_address_holds_no_image(url):
    assert inline_image(url) is None


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("data:image/png;base64", "no comma"),
        ("data:image/png;base64,", "nothing"),
        ("data:image/png;base64,iVBORw", "not base64"),
        ("data:image/png;base64,iVBO*Rw==", "not base64"),
        ("data:image/png;base64,äöü=", "not base64"),
        (f"data:text/html;base64,{PNG}", "'text/html'"),
        (f"data:;base64,{PNG}", "the type ''"),
    ],
)
def test_what_only_looks_like_an_image_is_wrong_everywhere(url, words):
    with pytest.raises(ProviderRejected, match=words) as caught:
        inline_image(url)

    assert caught.value.everywhere
    assert "data:image/TYPE;base64,DATA" in str(caught.value)


@pytest.mark.req("M7")
def test_an_image_by_value_may_be_as_large_as_a_file():
    assert not is_too_large(InlineFile("image/png", "A" * 26_666_664))
    assert is_too_large(InlineFile("image/png", "A" * 26_666_672))
