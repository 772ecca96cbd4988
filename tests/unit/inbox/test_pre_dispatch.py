"""What the answer of a hook means that sees a message first."""

import pytest

from hermes.inbox.pre_dispatch import Verdict, read_verdict


@pytest.mark.req("W15")
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (None, None),
        ({"skip": False}, None),
        ({"skip": True}, Verdict(skip="")),
        ({"skip": "spam"}, Verdict(skip="spam")),
        ({"skip": "x" * 500}, Verdict(skip="x" * 200)),
        ({"text": ""}, Verdict(text="")),
        ({"text": "better"}, Verdict(text="better")),
    ],
)
def test_an_answer_skips_rewrites_or_says_nothing(answer: object, verdict: Verdict | None) -> None:
    assert read_verdict(answer) == verdict


@pytest.mark.req("W15")
@pytest.mark.parametrize(
    "answer",
    [{}, {"skip": "spam", "text": "better"}, {"skip": 1}, {"text": True}, {"drop": "x"}, "skip", ["x"]],
)  # fmt: skip
def test_any_other_answer_is_refused_with_what_was_expected(answer: object) -> None:
    with pytest.raises(ValueError, match=r'expected None, \{"skip": "why"\} or'):
        read_verdict(answer)
