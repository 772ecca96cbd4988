"""HTML as a model reads it: what is shown is there, in a form that can be read, and nothing else."""

import time

import pytest

from hermes.message.markup.html_reader import (
    MAX_MAIL_TEXT,
    MAX_TOKENS,
    PageText,
    read_mail_html,
    read_page,
    visible,
)

URL = "https://example.org/dir/page"


def text_of(page: str, max_chars: int = 10_000) -> str:
    return read_page(page, url=URL, max_chars=max_chars).text


def test_a_whole_page_keeps_its_structure():
    page = """<!doctype html><html><head><title> The &amp; Page </title>
        <style>p { color: red }</style><script>alert("<p>no</p>")</script></head><body>
        <nav><ul><li><a href="/one">One</a></li><li><a href="two">Two</a></li></ul></nav>
        <h1>A <em>great</em> thing</h1>
        <p>First   text with <a href="?q=1">a link</a>,
           and more.<br>Next line</p>
        <h2>Steps</h2><ol><li>begin<li>go on<ul><li>deeper</li></ul></li><li>end</ol>
        <table><tr><th>Name</th><th>Size</th></tr><tr><td><p>a</p></td><td>1</td></tr></table>
        <pre>def f():
    return 1</pre><img src="x.png" alt="A cat"><hr>last &lt;words&gt;</body></html>"""

    assert read_page(page, url=URL, max_chars=10_000) == PageText(
        "The & Page",
        """- [One](https://example.org/one)
- [Two](https://example.org/dir/two)

# A great thing

First text with [a link](https://example.org/dir/page?q=1), and more.
Next line

## Steps

1. begin
2. go on
  - deeper
3. end

Name | Size
a | 1

def f():
    return 1

[image: A cat]

---

last <words>""",
        False,
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<a href='javascript:alert(1)'>x</a>", "x"),
        ("<a href='data:text/html,x'>x</a>", "x"),
        ("<a href='mailto:a@b'>x</a>", "x"),
        ("<a href='http://[bad'>x</a>", "x"),
        ("<a href=''>x</a>", "x"),
        ("<a>x</a>", "x"),
        ("<a href='/y'></a>x", "x"),
        ("<a href='/a)b c'>x</a>", "[x](https://example.org/a%29b%20c)"),
        ("<a href='/y'><div><h3>Card</h3></div></a>", "### [Card](https://example.org/y)"),
        ("<a href='/y'>one<a href='/z'>two", "[one](https://example.org/y)[two](https://example.org/z)"),
        (f"<a href='/{'y' * 600}'>x</a>", "x"),
        ("<base href='https://other.example/'><a href='z'>x</a>", "[x](https://other.example/z)"),
    ],
)  # fmt: skip
def test_links_lead_to_web_addresses_or_are_plain_text(page, text):
    assert text_of(page) == text


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "hidden",
    [
        "<script>X</script>",
        "<style>X</style>",
        "<template>X</template>",
        "<svg><text>X</text></svg>",
        "<iframe src=y>X</iframe>",
        "<!-- X -->",
        "<div hidden>X<div>X</div>X</div>",
        "<span style='display : none'>X</span>",
        "<span style='color:red;VISIBILITY:hidden'>X</span>",
        "<b style='font-size:0'>X</b>",
        "<b style='opacity: 0.0'>X</b>",
        "<b style='opacity:.01'>X</b><b style='opacity:0.'>X</b><b style='opacity: 3%'>X</b>",
        "<b style='font:0/0 a'>X</b><b style='font: bold 0px/1 serif'>X</b>",
        "<dialog>X<p>X</p></dialog>",
        "<font style='font-size:0px'>X</font><x-y hidden>X</x-y>",
        "<blockquote style='display:none'>X</blockquote>",
        "<img alt=X hidden>",
        "<select><option>X</option></select>",
        "<object>X</object>",
        "<input value=X><meta name=description content=X>",
    ],
)
def test_what_nobody_sees_is_left_out(hidden):
    assert text_of(f"a{hidden}b") == "ab"


COLUMN = (
    "<div style='font-size:0px'><table><tr><td style='font-size:0'>"
    "<div style='font-size:13px'>cancel <b>booking</b></div></td></tr>"
    "<tr><td style='font-size: 14px'>1234<table><tr><td>x</td></tr></table>5</td><td>no</td></tr>"
    "</table>no</div>yes"
)


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (COLUMN, "cancel booking 1234 x 5 yes"),
        ("<p style='visibility:hidden'>no<i style='visibility:visible'>yes</i>no</p>", "yes"),
        ("<div style='font-size:0'>no<i style='font-size:1em'>no</i></div>yes", "yes"),
        ("<div style='font:0/0 a'>no<i style='font: italic 700 12px/1 a'>yes</i></div>", "yes"),
        ("<dialog open>yes</dialog><dialog>no</dialog>", "yes"),
        ("<div style='display:none'>no<i style='font-size:9px'>no</i></div>yes", "yes"),
        ("a<svg width=1/>b<svg>no</svg>c", "abc"),
        ("a<textarea hidden>no</textarea>b<xmp style=display:none>no</xmp>c", "abc"),
        ("a<i style='display:/**/none'>no</i><i style='font-size:.0px'>no</i>b", "ab"),
        ("<div style='font-size:0'>" * 300 + "no", ""),
    ],
)
def test_what_hides_text_may_be_undone_inside(page: str, shown: str) -> None:
    assert " ".join(read_mail_html(page).split()) == shown


@pytest.mark.req("W34", "A8")
def test_a_mail_grows_no_larger_than_its_limit() -> None:
    grown = read_mail_html("<blockquote>" * 20 + "<pre>" + "\n" * 900_000)
    assert len(grown) < 2 * MAX_MAIL_TEXT


@pytest.mark.parametrize(
    "shown",
    [
        "opacity:0.5",
        "opacity:.1",
        "opacity:50%",
        "opacity:inherit",
        "font-size:0.9em",
        "font:100 0.9em/1 a",
        "font:inherit",
        "display:block",
    ],
)
def test_what_is_only_pale_is_shown(shown):
    assert text_of(f"<span style='{shown}'>x</span>") == "x"


@pytest.mark.req("W34")
def test_signs_that_nobody_sees_are_left_out():
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all")

    assert visible(f"a{smuggled}b\u202ec\u200bd\x00e\x1b[31m\u2066f\ufeffg\U000e0101") == (
        "abcde[31mfg"
    )
    assert visible("می\u200cخواهم 👩\u200d👩 é\n\tx") == "می\u200cخواهم 👩\u200d👩 é\n\tx"
    assert text_of(f"<p>a{smuggled}b") == "ab"


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<div>x", "<ul><li>x", "<table><tr><td>", "<td>x", "<a href=x>", "<br>x"),
        *("<div hidden>", "<pre>\n", "<blockquote>", "<a href=x>t<b>", "</div>", "</ul>", "<"),
        *("<svg>", "<svg></svg>", "<p style='opacity:0'>", "<h1>", "\u200b", "&#x200b;"),
    ],
)
def test_a_hostile_page_ends_soon_and_within_its_limit(piece):
    begin = time.process_time()

    page = read_page(piece * (300_000 // len(piece)), url=URL, max_chars=50_000)

    assert time.process_time() - begin < 5
    assert len(page.text) <= 50_000


def test_a_page_is_cut_at_its_limit_and_says_so():
    page = read_page("<p>" + "word " * 1000, url=URL, max_chars=99)

    assert (len(page.text), page.cut) == (99, True)
    assert read_page("<p>short", url=URL, max_chars=99).cut is False


@pytest.mark.req("W34")
def test_a_page_of_too_many_tags_is_cut_and_says_so():
    page = read_page("<p>start" + "<b>" * MAX_TOKENS + "end", url=URL, max_chars=99)

    assert (page.text, page.cut) == ("start", True)


def test_deep_lists_are_indented_no_further_than_six_levels():
    lines = text_of("<ul><li>x" * 50).splitlines()

    assert (lines[0], lines[5], lines[49]) == ("- x", "          - x", "            - x")


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p style='display:none'>X</p>a", "a"),
        ("<p hidden>X<b>X</b><p>a", "a"),
        ("<div>a<p hidden>X</div>b", "a\n\nb"),
        ("<p hidden>X<ul><li>a</ul>", "- a"),
        ("<table><tr><td><p hidden>X<td>a</table>", " | a"),
    ],
)
def test_a_hidden_paragraph_ends_where_a_browser_ends_it(page, text):
    assert text_of(page) == text


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<div>Hi,</div><div><br></div><div>it works</div>", "Hi,\nit works"),
        ("<p>One</p><p>Two<br>Three</p>", "One\n\nTwo\nThree"),
        ("<div>Yes</div><div>-- <br>Ada</div>", "Yes\n--\nAda"),
        ("<pre>a\n  b\n\nc</pre>", "a\n  b\n\nc"),
        ("<h1>News</h1><a href='https://x.test'>here</a><hr>x", "News\n\nhere\nx"),
        ("<ol><li><p>a</p><li>b</ol>c", "1. a\n2. b\nc"),
        ("<table><tr><td>a<td>b<tr><td><p>c</p><p>d</p></table>", "a b\n\nc\n\nd"),
        ("<html><head><title>t</title><body>a", "a"),
        ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n> \n> b\n> \nc"),
        ("a<blockquote>b<blockquote><br></blockquote></blockquote>", "a\n> b"),
        ("</blockquote>a<blockquote>b", "a\n> b"),
        ("<img alt='a cat' src=x>a", "a"),
    ],
)
def test_a_mail_keeps_its_lines_and_its_quotes(page, text):
    assert read_mail_html(page) == text


@pytest.mark.req("W10")
def test_quotes_of_a_mail_are_no_deeper_than_twenty():
    assert read_mail_html("<blockquote>" * 1000 + "a") == "> " * 20 + "a"


@pytest.mark.req("W10", "W34")
@pytest.mark.parametrize("piece", ["<blockquote>x", "<div>", "<p hidden>", "<pre>\n", "<td>x", "<"])
def test_a_hostile_mail_ends_soon(piece):
    begin = time.process_time()

    read_mail_html(piece * (300_000 // len(piece)))

    assert time.process_time() - begin < 5
