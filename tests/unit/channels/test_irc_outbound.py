"""Replies as lines, and what a server's refusals mean for them."""

import pytest

from hermes.contrib.irc.format import marks_of
from hermes.contrib.irc.inbound import IrcIdentity
from hermes.contrib.irc.outbound import REFUSALS, check_target, is_about, letter_of, refusal_of
from hermes.contrib.irc.wire import IrcLine
from hermes.errors import DeliveryRejected, FailureClass, NotDelivered
from hermes.message.parts import FilePart, ImagePart, Media, Part, TextPart
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import Delivery, Target

ME = IrcIdentity(nick="hermes", names=("hermes",), connection="c1", since=0.0)


def payloads(*parts: Part, target: str = "#lab", styled: bool = True) -> tuple[str, ...]:
    place = Target(platform="irc", account="default", chat_id=target)
    marks = marks_of(load_manifest("hermes.contrib.irc").markup, styled=styled)
    delivery = Delivery(id="o", target=place, parts=parts, key="k")
    return letter_of(delivery, target, me=ME, marks=marks).payloads


@pytest.mark.req("W10")
def test_text_styles_actions_and_addresses() -> None:
    assert payloads(TextPart("/quit **now**\n:x")) == ("/quit \x02now", ":x")
    assert payloads(TextPart("**a** `b`"), styled=False) == ("a b",)
    assert payloads(TextPart("/me waves")) == ("\x01ACTION waves\x01",)
    assert payloads(TextPart("/me waves\nand goes")) == ("/me waves", "and goes")
    picture = ImagePart(Media("image/png", url="https://x.org/a_b_c.png", name="cat"))
    assert payloads(TextPart("look"), picture) == ("look", "cat: https://x.org/a_b_c.png")
    assert payloads(TextPart("[a]: https://x.org")) == ("[a]: https://x.org",)


@pytest.mark.req("W10")
def test_what_cannot_be_sent_is_refused_for_good() -> None:
    with pytest.raises(DeliveryRejected, match="only its address"):
        payloads(FilePart(Media("text/plain", path="/tmp/x")))
    with pytest.raises(DeliveryRejected, match="the message is empty"):
        payloads(TextPart("\u2028"))


@pytest.mark.req("A28", "W10")
@pytest.mark.parametrize("target", ["", "a b", "#a,#b", ":x", "$*", "@x", "a\r\nQUIT", "x" * 200])
def test_a_target_is_one_nick_or_one_channel(target: str) -> None:
    with pytest.raises(DeliveryRejected) as raised:
        check_target(target)
    assert raised.value.failure is FailureClass.INVALID_RECIPIENT


@pytest.mark.req("A28", "A26")
@pytest.mark.parametrize(
    ("code", "kind", "failure"),
    [
        ("401", DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        ("403", DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        ("404", DeliveryRejected, FailureClass.REJECTED),
        ("442", DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        ("477", DeliveryRejected, FailureClass.UNAUTHORIZED),
        ("481", DeliveryRejected, FailureClass.REJECTED),
        ("437", NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        ("439", NotDelivered, FailureClass.RATE_LIMITED),
        ("FAIL", DeliveryRejected, FailureClass.REJECTED),
    ],
)
def test_what_a_refusal_means(code: str, kind: type[Exception], failure: FailureClass) -> None:
    error = refusal_of(IrcLine(command=code, params=("hermes", "#lab", "no")), "#lab")
    assert isinstance(error, kind)
    assert error.failure is failure
    assert code in REFUSALS or code == "FAIL"


@pytest.mark.req("A26")
def test_the_wait_is_read_and_another_targets_refusal_is_not_ours() -> None:
    told = "Message target change too fast. Please wait 17 seconds."
    error = refusal_of(IrcLine(command="439", params=("hermes", "ada", told)), "ada")
    assert error.retry_after == 17
    assert is_about(IrcLine(command="404", params=("hermes", "#LAB", "no")), "#lab", ME)
    assert not is_about(IrcLine(command="404", params=("hermes", "#den", "no")), "#lab", ME)
    assert is_about(IrcLine(command="417", params=("hermes", "too long")), "#lab", ME)
