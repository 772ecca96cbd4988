"""Mail in: who wrote, what is new, what is attached; and nothing that bytes can do to the reader."""

import base64
import encodings
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.channels.email import imap_wire, mail_text, mime, quotes, threads
from hermes.channels.email.addresses import MailAddress, read_address
from hermes.channels.email.bounces import Bounce
from hermes.channels.email.inbound import (
    IgnoredMail,
    Mail,
    MailReadRules,
    event_id,
    message_id_of,
    read_mail,
    to_event,
)
from hermes.errors import AnswerLost, BadRequest, Refused, TooLarge, Unauthenticated
from hermes.message.markup.html_reader import read_mail_html
from hermes.message.parts import Media

OWN = read_address("hermes@hermes.test")
READING = MailReadRules(own=OWN, authserv_id="mx.hermes.test")
ANYBODY = MailReadRules(own=OWN, authserv_id=None)
VOUCHED = "Authentication-Results: mx.hermes.test; dmarc=pass header.from=people.test"


def mail(*headers: str, body: str = "Hello.", top: str = VOUCHED) -> bytes:
    lines = [top, "From: Ada <ada@people.test>", "Message-ID: <m1@people.test>", *headers, "", body]
    return "\r\n".join(lines).encode()


def read(raw: bytes, reading: MailReadRules = READING) -> Mail:
    found = read_mail(raw, reading=reading, fallback_id="uid:7.8")
    assert isinstance(found, Mail)
    return found


@pytest.mark.req("W10", "W11")
def test_a_mail_is_an_event_in_its_thread() -> None:
    raw = mail(
        "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
        "References: <root@x.test> <mid@x.test>",
        "In-Reply-To: <mid@x.test>",
    )
    event = to_event(read(raw), account="default", at=5.0, fallback_id="uid:7.8", media=())
    assert event is not None
    assert event.text == "Hello."
    assert event.external_id == "m1@people.test ada@people.test"
    assert message_id_of(event.external_id) == "m1@people.test"
    source = event.source
    assert (source.chat_id, source.user_id) == ("ada@people.test", "ada@people.test")
    assert (source.user_name, source.chat_topic) == ("Ada", "Grüße")
    assert source.thread_id == "root@x.test"
    assert event.reply_to is not None
    assert event.reply_to.message_id == "mid@x.test"


@pytest.mark.req("W11")
def test_an_answer_that_names_only_our_mail_is_in_the_thread_of_that_mail() -> None:
    ours = threads.own_id("d.0", thread="root@x.test", domain=OWN.domain)
    assert read(mail(f"In-Reply-To: <{ours}>")).thread == "root@x.test"
    assert read(mail(f"In-Reply-To: <{ours.replace('hermes.test', 'evil.test')}>")).thread != "root@x.test"  # fmt: skip
    encoded = base64.b64encode(f"<{ours}>".encode()).decode()
    assert read(mail(f"In-Reply-To: =?utf-8?b?{encoded}?=")).thread == "root@x.test"
    assert threads.own_id("d.0", thread=None, domain=OWN.domain) != ours


@pytest.mark.req("J1")
def test_without_an_id_a_mail_is_known_by_its_number_and_answered_without_one() -> None:
    raw = mail().replace(b"Message-ID: <m1@people.test>\r\n", b"")
    found = read(raw)
    assert event_id(found, fallback_id="uid:7.8") == "uid:7.8 ada@people.test"
    assert message_id_of("uid:7.8 ada@people.test") == ""


@pytest.mark.req("A8", "W10")
@pytest.mark.parametrize(
    "top",
    [
        "Subject: none at all",
        "Authentication-Results: mx.evil.test; dmarc=pass header.from=people.test",
        "Authentication-Results: mx.hermes.test; dmarc=fail header.from=people.test",
        "Authentication-Results: mx.hermes.test; dmarc=pass header.from=evil.test",
        "Authentication-Results: mx.hermes.test; dkim=pass header.d=evil.test",
        "Authentication-Results: mx.hermes.test; dkim=pass header.d=sub.people.test",
        "Authentication-Results: mx.hermes.test; dkim=pass header.d=test",
        "Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=evil.test",
        "Authentication-Results: mx.hermes.test; spf=softfail smtp.mailfrom=people.test",
        "Authentication-Results: mx.hermes.test; none",
        "Authentication-Results: mx.hermes.test; (dmarc=pass) spf=fail (x; dmarc=pass)",
        'Authentication-Results: mx.hermes.test; spf=fail reason="; dmarc=pass header.from=people.test"',
        "Authentication-Results: mx.hermes.test; spf=none\r\nReceived: from x\r\n" + VOUCHED,
        VOUCHED + "\r\nFrom: Eve <eve@people.test>",
        # a quoted-pair ends neither a comment nor a quoted string
        r'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=evil.test (envelope-from="a\) ;'
        r' dmarc=pass header.from=people.test \(b"@evil.test) ; dkim=none',
        r'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="\\"@evil.test'
        " (x; dmarc=pass header.from=people.test ; y)",
        "Authentication-Results: mx.hermes.test; spf=none (a (b) ; dmarc=pass header.from=people.test ; c)",
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="'
        + "x" * 300
        + ' header.from=people.test"@evil.test; dmarc=pass header.from=evil.test',
        # a comment or a quoted string that does not end
        "Authentication-Results: mx.hermes.test; dmarc=pass header.from=people.test (",
        'Authentication-Results: mx.hermes.test; dmarc=pass header.from=people.test; x="',
        # some servers write below their Received, and the sender's own headers follow
        "Received: from x\r\nAuthentication-Results: mx.hermes.test; spf=none\r\n" + VOUCHED,
        "Authentication-Results: mx.hermes.test; spf=none\r\n" + VOUCHED,
        # nor does a line that is not the first one count above the first Received
        "Authentication-Results: mx.hermes.test; spf=none\r\n" + VOUCHED + "\r\nReceived: from x",
        # a failure counts in any line of the server
        VOUCHED + "\r\nAuthentication-Results: mx.hermes.test; dmarc=fail",
        VOUCHED + "\r\nAuthentication-Results: mx.hermes.test; spf=fail; dkim=fail",
        "Received: from x\r\n" + VOUCHED + "\r\nAuthentication-Results: mx.hermes.test; dmarc=fail",
        "Authentication-Results: mx.hermes.test; x=y (" + "z" * 8000 + ")\r\n" + VOUCHED,
        "Authentication-Results: mx.hermes.test (\r\n" + VOUCHED,
        "Authentication-Results: mx.other.test; none\r\n" * 5 + VOUCHED,
        "Authentication-Results: mx.hermes.test; dmarc=pass header.from=people.test; spf=fail; dkim=fail",
        # white space that an address may hold without quotes
        "Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=people.test\u3000x@evil.test",
        "Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=people.test\u00a0x@evil.test",
        "Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=people.test\x0bx@evil.test",
        "Authentication-Results: mx.hermes.test; dkim=pass header.i=people.test\u2003x@evil.test",
        "Authentication-Results: mx.hermes.test; dkim=pass header.i=a\u2003header.d=people.test\u2003b@evil.test"
        " header.d=evil.test",
        # a control character behind a backslash
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="a\\\x01"@evil.test; dkim=none'
        ' header.i="; dmarc=pass header.from=people.test; x=\\""@evil.test',
        "Authentication-Results: mx.hermes.test; spf=pass (client a\\\x01) smtp.mailfrom=b) ;"
        " dmarc=pass header.from=people.test",
        # in quotes there is no domain
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="x@people.test"',
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="people.test"',
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom="x@people.test"@evil.test',
        'Authentication-Results: mx.hermes.test; spf=pass smtp.mailfrom=evil.test"@people.test"',
    ],
)
@pytest.mark.quality("authentication before reading")
def test_a_sender_for_whom_the_server_does_not_vouch_is_refused(top: str) -> None:
    with pytest.raises((Unauthenticated, BadRequest)):
        read(mail(top=top))


@pytest.mark.req("A8", "W10")
@pytest.mark.parametrize(
    "results",
    [
        "dmarc=pass (p=REJECT sp=NONE) header.from=people.test",
        "dmarc=pass header.from=PEOPLE.TEST; spf=fail",
        "dkim=pass header.i=@people.test header.s=a",
        "dkim=fail header.d=people.test; dkim=pass header.d=people.test",
        "spf=pass (sender ok) smtp.mailfrom=bounce@people.test",
        "dmarc=none; dkim=pass header.d=people.test",
        'spf=pass smtp.mailfrom="a;b (c"@people.test',
        'spf=pass smtp.mailfrom="a@evil.test"@people.test',
        "spf=pass smtp.mailfrom=grüße@people.test;\tdkim=none",
        "dkim = pass (good \\) really (2048) ) header.d = people.test",
        "dkim/1=pass header.b=ab= header.d=people.test",
    ],
)
def test_a_sender_for_whom_the_server_vouches_is_believed(results: str) -> None:
    top = f"Received: from us\r\nAuthentication-Results: mx.hermes.test 1;\r\n\t{results}"
    assert read(mail(top=top)).sender == MailAddress(local="ada", domain="people.test")


@pytest.mark.req("A8")
def test_a_child_follows_its_parent() -> None:
    top = "Authentication-Results: mx.hermes.test; dkim=pass header.d=test.example"
    raw = mail(top=top).replace(b"ada@people.test", b"ada@mail.test.example")
    assert read(raw).sender.domain == "mail.test.example"


@pytest.mark.req("A8", "W10")
@pytest.mark.parametrize("pairs", [1000, 3970])
def test_many_lines_of_unended_quotes_are_refused_at_once(pairs: int) -> None:
    line = 'Authentication-Results: x; a="' + r"\"" * pairs + "\r\n"
    began = time.process_time()
    with pytest.raises(Unauthenticated):
        read(mail(top=line * (250_000 // len(line)) + VOUCHED))
    assert time.process_time() - began < 2


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: auto-generated; type=x",
        "Precedence: bulk",
        "Precedence: LIST",
        "List-Id: <all.people.test>",
        "List-Unsubscribe: <mailto:x@y.test>",
        "X-Auto-Response-Suppress: OOF",
        "Return-Path: <>",
        "Return-Path: < >",
        "X-Autoreply: yes",
    ],
)
def test_what_programs_send_is_not_answered(header: str) -> None:
    assert isinstance(read_mail(mail(header), reading=READING, fallback_id="f"), IgnoredMail)


@pytest.mark.req("W30")
@pytest.mark.parametrize(
    "sender",
    ["MAILER-DAEMON@x.test", "no-reply@x.test", "noreply+7@x.test", "bounces@x.test", OWN.text],
)
def test_senders_that_read_nothing_are_not_answered(sender: str) -> None:
    raw = mail().replace(b"ada@people.test", sender.encode())
    assert isinstance(read_mail(raw, reading=ANYBODY, fallback_id="f"), IgnoredMail)
    assert isinstance(read_mail(mail("Auto-Submitted: no"), reading=READING, fallback_id="f"), Mail)


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    "value",
    [
        "",
        "nobody",
        "a@b.test, c@d.test",
        "<a@b..test>",
        "a b@c.test",
        '<"a b"@c.test>',
        "x <a@-b.test>",
        "@",
        "<a@>",
        "group: a@b.test, c@d.test;",
        "a@" + "b" * 300 + ".test",
        "=?utf-8?b?" + base64.b64encode(b"a@b.test").decode() + "?=",
        "(" * 3900,
    ],
)
def test_a_from_that_names_nobody_for_sure_is_refused(value: str) -> None:
    raw = f"From: {value}\r\n\r\nHello".encode()
    with pytest.raises(BadRequest):
        read_mail(raw, reading=ANYBODY, fallback_id="f")


@pytest.mark.req("W10")
def test_addresses_are_made_comparable() -> None:
    assert read_address("Ada@EXAMPLE.Org").text == "Ada@example.org"
    assert read_address("ada@bücher.test").text == "ada@xn--bcher-kva.test"
    raw = b'From: "=?utf-8?q?Eve=2C_?= <x@y.test>" <ada@people.test>\r\n\r\nHi'
    assert read(raw, ANYBODY).sender.text == "ada@people.test"


@pytest.mark.req("A8")
def test_a_domain_is_never_read_as_somebody_elses() -> None:
    # These are two owners' domains; older rules for names made one of them.
    vouched = "Authentication-Results: mx.hermes.test; dmarc=pass header.from=straße.test"
    raw = f"{vouched}\r\nFrom: boss@straße.test\r\n\r\nHi".encode()
    assert read(raw).sender.text == "boss@xn--strae-oqa.test"
    with pytest.raises(BadRequest):
        read_address("boss@peo\u200dple.test")


def _part(kind: str, text: str, *more: str) -> str:
    return "\r\n".join(("--b", f"Content-Type: {kind}", *more, "", text))


def _multipart(kind: str, *parts: str) -> bytes:
    return mail(f"Content-Type: multipart/{kind}; boundary=b", body="\r\n".join((*parts, "--b--")))


@pytest.mark.req("W17")
def test_of_two_ways_to_say_it_the_plain_one_is_read_and_files_are_kept() -> None:
    coded = base64.b64encode(b"\x89PNG").decode()
    raw = _multipart(
        "mixed",
        _part("text/plain; charset=iso-8859-1", "Gr=FC=DFe", "Content-Transfer-Encoding: quoted-printable"),
        _part("text/html", "<p>No</p>"),
        _part("image/png", coded, "Content-Transfer-Encoding: base64", "Content-ID: <i>"),
        _part("text/plain", "in a file", "Content-Disposition: attachment; filename*=utf-8''..%2F%C3%A4.txt"),
        _part("message/rfc822", "From: x\r\n\r\nmultipart/inside"),
    )  # fmt: skip
    found = read(raw)
    assert found.text == "Grüße"
    assert [(file.mime, file.name, file.data) for file in found.files] == [
        ("image/png", "image.png", b"\x89PNG"),
        ("text/plain", "ä.txt", b"in a file"),
        ("message/rfc822", "mail.eml", b"From: x\r\n\r\nmultipart/inside"),
    ]
    media = (Media("image/png", path="/p"), Media("audio/ogg", path="/a"))
    event = to_event(found, account="a", at=0, fallback_id="f", media=media, notes="[note]")
    assert event is not None
    assert event.text == "Grüße\n\n[note]"
    assert [type(part).__name__ for part in event.parts] == ["TextPart", "ImagePart", "AudioPart"]


@pytest.mark.req("W10", "W34")
@pytest.mark.parametrize(
    "hidden",
    [
        "<div style='display:none;max-height:0'>X</div>",
        "<span style='visibility:hidden'>X</span>",
        "<font style='font-size:0px'>X</font><b style='font-size:0'>X</b>",
        "<div hidden>X<div>X</div></div>",
        "<i style='opacity:0'>X</i>",
        "<template>X</template><svg><text>X</text></svg><select><option>X</select>",
        "<!-- X --><style>X</style><script>X</script>",
        "\U000e0058\u202e",
    ],
)
def test_text_of_a_mail_that_nobody_sees_is_left_out(hidden: str) -> None:
    page = f"<p>seen{hidden}</p><blockquote>{hidden}old</blockquote>"
    found = read(mail("Content-Type: text/html; charset=utf-8", body=page))
    assert (found.text, found.quoted) == ("seen", "old")


@pytest.mark.req("W10")
def test_html_alone_is_read_as_text() -> None:
    page = (
        "<html><head><title>t</title><style>p{}</style></head><body><p>One&nbsp;&amp; two</p>"
        "<ul><li>a<li>b</ul><!-- no --><script>if (a<b) x()</script>x < y<br>z"
        "<blockquote>old<blockquote>older</blockquote></blockquote></body></html>"
    )
    assert read_mail_html(page) == "One & two\n\n- a\n- b\nx < y\nz\n> old\n> > older"
    found = read(mail("Content-Type: text/html", body=page))
    assert found.text == "One & two\n\n- a\n- b\nx < y\nz"
    assert found.quoted == "old\nolder"
    assert read_mail_html("<style>" + "<" * 10) == ""
    assert read_mail_html("a <" + "b" * 3) == "a"
    assert read_mail_html("<p>a&#" + "1" * 5000 + ";b&#x" + "f" * 5000) == "a\ufffdb\ufffd"


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("text", "new", "quoted"),
    [
        ("Yes.\n\nOn Mon, Ada wrote:\n> old\n> older", "Yes.", "On Mon, Ada wrote:\nold\nolder"),
        ("Ja.\n\nAm 3. Mai schrieb Ada\n<a@b.test>:\n\n> alt", "Ja.", "Am 3. Mai schrieb Ada\n<a@b.test>:\n\nalt"),
        ("Ok\n-- \nAda\nHead of x", "Ok", ""),
        ("Ok\n-- \nAda\n\n> quoted", "Ok", "quoted"),
        ("> q1\nmy answer\n> q2\nmy second", "> q1\nmy answer\n> q2\nmy second", ""),
        ("New\n-----Original Message-----\nFrom: x", "New", "-----Original Message-----\nFrom: x"),
        ("New\n________________________________\nFrom: Ada <a@b.test>\nSent: Monday\nTo: x\nSubject: y\n\nold",
         "New", "________________________________\nFrom: Ada <a@b.test>\nSent: Monday\nTo: x\nSubject: y\n\nold"),
        ("> all\n> quoted", "> all\n> quoted", ""),
        ("Run a -- b\n--\nthat", "Run a -- b", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_what_was_quoted_is_told_from_what_is_new(text: str, new: str, quoted: str) -> None:
    assert quotes.cut(text) == (new, quoted)


@pytest.mark.req("A28")
def test_a_report_about_our_mail_is_no_message() -> None:
    ours = threads.own_id("d.0", thread="root@x.test", domain=OWN.domain)
    raw = mail(
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
        body="\r\n".join(
            (
                _part("text/plain", "sorry"),
                _part(
                    "message/delivery-status",
                    "Reporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; ada@people.test\r\n"
                    "Action: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 no such user",
                ),
                _part("text/rfc822-headers", f"Subject: Re: x\r\nMessage-ID: <{ours}>"),
                "--b--",
            )
        ),
        top="Return-Path: <>",
    ).replace(b"ada@people.test>\r\nMessage", b"MAILER-DAEMON@x.test>\r\nMessage")
    found = read_mail(raw, reading=READING, fallback_id="f")
    assert found == Bounce(
        message_id=ours,
        recipient="ada@people.test",
        action="failed",
        status="5.1.1",
        said="smtp; 550 no such user",
    )


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("zip", b"x"), ("base64", b"x"), ("rot13", b"x"), ("idna", b"x" * 9), ("punycode", b"a-" * 9), ("no\0", b"x"),
        ("unicode_escape", rb"\ud800"), ("utf-7", b"+2AA-"), ("utf-16", b"\xd8\x00"), ("hz", b"~~~"), ("x" * 99, b"\xff"),
    ],
)  # fmt: skip
def test_no_charset_makes_anything_but_text(charset: str, data: bytes) -> None:
    mail_text.decode_text(data, charset).encode()
    assert mail_text.decode_text(rb"\u0041", "unicode_escape") == r"\u0041"


@pytest.mark.req("A8")
def test_charsets_that_mails_make_up_are_not_kept() -> None:
    # Where Python keeps every name that it was asked for.
    kept = vars(encodings)["_cache"]
    mail_text.decode_text(b"a", "iso-8859-1")
    before = len(kept)
    for number in range(1, 100):
        assert mail_text.decode_header(f"=?made-up-{number}?q?a?=".encode()) == "a"
        assert mail_text.decode_text(b"a", "iso" + "-" * number + "8859-1") == "a"
    assert len(kept) == before


@pytest.mark.req("W10")
@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("ISO-8859-15", b"\xa4"), ("Windows-1252", b"\x80"), ("cp858", b"\xd5"), ("gb18030", b"\xa2\xe3"),
        ("iso-8859-15*de", b"\xa4"), ('"Latin9"', b"\xa4"),
    ],
)  # fmt: skip
def test_charsets_are_known_by_all_their_names(charset: str, data: bytes) -> None:
    assert mail_text.decode_text(data, charset) == "€"


@pytest.mark.req("A8")
def test_mails_that_are_made_to_hurt_are_refused_quickly() -> None:
    began = time.process_time()
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n)
        for n in range(1000)
    )
    many = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 100_000
    headers = b"X-A: b\r\n" * 50_000
    deep = nested[: nested.index(b"boundary=b40")]
    half = (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
        + b"--b\r\n\r\nx\r\n" * 150
        + b"--b--\r\n"
    )
    two = b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n" + half + b"\r\n--a\r\n" + half
    for raw in (nested, deep, many, two, headers, b"X: " + b"y" * 400_000):
        with pytest.raises(TooLarge):
            read_mail(b"From: a@b.test\r\n" + raw, reading=ANYBODY, fallback_id="f")
    for slow in (
        "<" * 300_000,
        "<a" * 150_000,
        "<!--" * 80_000,
        "<style>" * 50_000,
        "</" * 150_000,
        "&" * 300_000,
    ):
        read_mail_html(slow)
    mail_text.decode_header(b"=?" * 100_000)
    mail_text.decode_header(b"=?utf-8?q?" + b"=" * 100_000 + b"?=")
    quotes.cut("On " * 50_000)
    quotes.cut("> \n" * 50_000)
    quotes.cut("From: a\n" * 50_000)
    assert time.process_time() - began < 8


def _nested(depth: int, inner: bytes) -> bytes:
    heads = (
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (at, at)
        for at in range(depth)
    )
    return b"From: a@b.test\r\n" + b"".join(heads) + b"Content-Type: text/plain\r\n\r\n" + inner


@pytest.mark.req("A8")
def test_the_whole_of_a_large_mail_is_not_searched_again_and_again() -> None:
    assert read(_nested(8, b"deep"), ANYBODY).text == "deep"
    assert read(_nested(4, b"x" * 3_000_000), ANYBODY).text == "x" * 200_000
    look_alike = b"\n--b0x" * 10_001
    for raw in (_nested(9, b""), _nested(8, b"x" * 3_000_000), _nested(1, look_alike)):
        with pytest.raises(TooLarge):
            read(raw, ANYBODY)


@pytest.mark.req("A8")
@pytest.mark.parametrize("head", ["X-A: b", "Content-Type: multipart/mixed; boundary=b"])
def test_only_the_beginning_of_a_long_text_is_read(head: str) -> None:
    began = time.process_time()
    found = read(mail(head, body="a\n" * 2_500_000))
    assert found.text == ("a\n" * 100_000).strip()
    assert time.process_time() - began < 6


@pytest.mark.req("W10")
def test_a_long_text_is_not_cut_within_a_character() -> None:
    assert read(mail(body="x" + "字🙂" * 200_000)).text == "x" + ("字🙂" * 100_000)[:-1]
    assert read(mail(body="x" + "🙂" * 300_000)).text == "x" + "🙂" * 199_999


@pytest.mark.req("W10")
def test_a_mail_without_its_boundaries_is_a_text() -> None:
    lost = mail("Content-Type: multipart/mixed", body="just words")
    assert read(lost).text == "just words"
    wrong = mail("Content-Type: multipart/mixed; boundary=other", body="--b\r\n\r\nwords\r\n--b--")
    assert "words" in read(wrong).text
    cut = mail("Content-Type: multipart/mixed; boundary=b", body="--b\r\n\r\nnot ended")
    assert read(cut).text == "not ended"
    assert read(mail("Subject: only a subject", body="")).text == "only a subject"


_LINES = st.sampled_from(
    [
        b"From: a@b.test", b"From: =?utf-8?b?/w==?= <a@b.test>", b"Content-Type: multipart/mixed; boundary=b", b"--b", b"--b--",
        b"Content-Type: text/html; charset=utf-7", b"Content-Transfer-Encoding: base64", b"Content-Disposition: attachment; filename*0*=x",
        b"Content-Type: text/plain; name*99999999999=x; charset=\xff", b"References: <a> <" + b"x" * 300 + b">", b"", b"<p>&#xD800;",
        b"Subject: =?utf-7?q?+2AA-?=", b"In-Reply-To: <hermes." + b"0" * 32 + b".____@hermes.test>", b"\xff\xfe\0", b" folded",
        b"Content-Type: multipart/report; report-type=delivery-status; boundary=b", b"Content-Type: message/delivery-status",
    ]
)  # fmt: skip


@pytest.mark.req("W10")
@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(st.one_of(_LINES, st.binary(max_size=30)), max_size=30).map(b"\r\n".join),
    )
)
def test_any_bytes_are_a_mail_or_a_refusal(raw: bytes) -> None:
    for reading in (ANYBODY, READING):
        for given_bytes in (raw, b"From: a@b.test\r\n" + raw):
            try:
                found = read_mail(given_bytes, reading=reading, fallback_id="uid:1.2")
            except Refused:
                continue
            if isinstance(found, Mail):
                event = to_event(found, account="a", at=0, fallback_id="uid:1.2", media=())
                assert event is None or event.text.encode()


@pytest.mark.req("W10")
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_answer_of_a_server_is_read_or_refused(line: bytes) -> None:
    imap_wire.read_status(line)
    try:
        values = imap_wire.read_values([line])
    except AnswerLost:
        return
    imap_wire.pairs(values)
    imap_wire.read_date(line)


@pytest.mark.req("W10")
def test_what_imap_says_is_read_as_it_is_meant() -> None:
    values = imap_wire.read_values([b'1 FETCH (UID 7 X "a \\"b\\"" BODY[HEADER.FIELDS (TO)]<0> ', imap_wire.Literal(b"(x"), b")"])  # fmt: skip
    assert imap_wire.pairs(values[2]) == {
        b"UID": b"7",
        b"X": b'a "b"',
        b"BODY[HEADER.FIELDS (TO)]<0>": b"(x",
    }
    assert imap_wire.read_date(b" 1-Jan-2026 02:00:00 +0200") == 1767225600.0
    assert imap_wire.read_date(b"99-Jan-2026 02:00:00 +0200") is None
    assert imap_wire.folder_name("Gesendet & Ähnliches") == "Gesendet &- &AMQ-hnliches"
    assert imap_wire.quoted('a"\\') == b'"a\\"\\\\"'
    assert imap_wire.quoted("ä") is None
    assert imap_wire.search_day(1767225600.0) == "31-Dec-2025"
    assert mime.safe_name("..\\..\\a:b.txt") == "ab.txt"
