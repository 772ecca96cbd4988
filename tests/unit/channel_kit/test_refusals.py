"""What a refused call means: by the rows of the platform, and without one by its status."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channel_kit.refusals import (
    ApiAnswer,
    as_shape,
    failure_by,
    field_of,
    final_error,
    read_answer,
)
from hermes.errors import (
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.net.platform_call import PlatformAnswer
from hermes.ports.channel_rows import AnswerRow, RefusalRow

META = AnswerRow(code="error.code", says="error.message")
SLACK = AnswerRow(ok="ok", code="error")
ROWS = (
    RefusalRow(
        code="131047 131026",
        failure=FailureClass.TOO_OLD,
        hint="the person has to write first",
    ),
    RefusalRow(
        status=401, failure=FailureClass.UNAUTHORIZED, credential=True, hint="set a new token"
    ),
    RefusalRow(code="130429", failure=FailureClass.RATE_LIMITED, then="retry", wide=True, wait_s=9),
    RefusalRow(status=400, says="not modified", then="done"),
    RefusalRow(code="2", failure=FailureClass.SERVICE_UNAVAILABLE, then="unknown"),
)


def failure(status: int, body: Any, *, wait: float | None = None) -> DeliveryError | None:
    answer = PlatformAnswer(status=status, body=msgspec.json.encode(body), retry_after=wait)
    return failure_by(read_answer(answer, META), ROWS, platform="example", method="messages")


def told(error: DeliveryError | None) -> tuple[type[DeliveryError], FailureClass, str]:
    assert error is not None
    return type(error), error.failure, str(error)


def test_an_error_names_the_status_once() -> None:
    found = failure(401, {"error": {"code": 0, "message": "401: Unauthorized"}})

    assert told(found) == (
        DeliveryRejected,
        FailureClass.UNAUTHORIZED,
        "example: messages was refused (401 Unauthorized); set a new token",
    )


def test_a_row_says_what_follows_and_what_to_do() -> None:
    found = failure(400, {"error": {"code": 131047, "message": "Re-engagement\nmessage"}})

    assert told(found) == (
        DeliveryRejected,
        FailureClass.TOO_OLD,
        "example: messages was refused (400 131047 Re-engagement message); the person has to write "
        "first",
    )


def test_a_row_can_fit_only_some_calls() -> None:
    row = RefusalRow(call="delete edit", status=404, then="done")
    said = ApiAnswer(status=404)

    assert [
        failure_by(said, (row,), platform="example", method=name) is None
        for name in ("delete", "edit", "send", "")
    ] == [True, True, False, False]


def test_a_row_fits_one_of_several_sentences() -> None:
    row = RefusalRow(says="chat not found | user not found", failure=FailureClass.INVALID_RECIPIENT)
    found = [
        failure_by(ApiAnswer(status=400, sentence=said), (row,), platform="example")
        for said in ("Bad Request: User not found", "Bad Request: not found")
    ]

    assert [told(one)[1] for one in found] == [
        FailureClass.INVALID_RECIPIENT,
        FailureClass.REJECTED,
    ]


def test_a_code_that_repeats_the_status_is_said_once() -> None:
    said = ApiAnswer(status=502, code="502", sentence="Bad Gateway")
    row = RefusalRow(status=502, failure=FailureClass.SERVICE_UNAVAILABLE)

    texts = [
        told(failure_by(said, rows, platform="example", method="send"))[2] for rows in ((), (row,))
    ]
    assert [text.partition(";")[0] for text in texts] == [
        "example: the platform failed (502 Bad Gateway)",
        "example: send was refused (502 Bad Gateway)",
    ]


def test_a_refused_credential_is_the_operators_matter_and_nothing_else_is() -> None:
    revoked = failure(401, {"error": {"message": "expired"}})
    other = failure(400, {"error": {"code": 131047}})

    assert revoked is not None
    assert other is not None
    final = final_error(revoked, setting="platforms.example.token")
    assert (type(final), str(final)) == (
        ConfigurationError,
        "platforms.example.token: example: messages was refused (401 expired); set a new token",
    )
    assert final_error(other, setting="platforms.example.token") is other


@pytest.mark.parametrize("is_wide", [True, False, None, "true"])
def test_a_row_can_ask_for_a_field_that_is_true(is_wide: object) -> None:
    rows = (
        RefusalRow(status=429, has="global", then="retry", wide=True),
        RefusalRow(status=429, then="retry"),
    )
    body = msgspec.json.encode({"global": is_wide, "retry_after": 2.5})
    said = read_answer(PlatformAnswer(status=429, body=body), AnswerRow(wait="retry_after"))

    found = failure_by(said, rows, platform="example")

    assert found is not None
    assert (found.platform_wide, found.retry_after) == (is_wide is True, 2.5)


def test_the_first_row_that_fits_counts() -> None:
    found = failure(401, {"error": {"code": 131026}})

    assert told(found)[1] is FailureClass.TOO_OLD


def test_a_credential_is_told_apart_from_a_message() -> None:
    found = failure(401, {})

    assert told(found)[:2] == (DeliveryRejected, FailureClass.UNAUTHORIZED)
    assert found is not None
    assert found.credential


@pytest.mark.parametrize(("header", "waits"), [(None, 9.0), (3.0, 3.0), (0.0, 0.0)])
def test_the_platform_says_how_long_to_wait_and_else_the_row(
    header: float | None, waits: float
) -> None:
    found = failure(429, {"error": {"code": "130429"}}, wait=header)

    assert told(found)[:2] == (NotDelivered, FailureClass.RATE_LIMITED)
    assert found is not None
    assert (found.retry_after, found.platform_wide) == (waits, True)


def test_what_is_as_it_should_be_is_no_failure() -> None:
    assert failure(400, {"error": {"message": "message is NOT Modified"}}) is None


def test_a_failure_in_the_middle_leaves_it_open() -> None:
    assert told(failure(500, {"error": {"code": 2}}))[0] is DeliveryUnknown


@pytest.mark.parametrize(
    ("status", "kind", "class_"),
    [
        (429, NotDelivered, FailureClass.RATE_LIMITED),
        (503, NotDelivered, FailureClass.SERVICE_UNAVAILABLE),
        (403, DeliveryRejected, FailureClass.UNAUTHORIZED),
        (404, DeliveryRejected, FailureClass.INVALID_RECIPIENT),
        (400, DeliveryRejected, FailureClass.REJECTED),
        (302, DeliveryRejected, FailureClass.REJECTED),
    ],
)
def test_without_a_row_the_status_counts(
    status: int, kind: type[DeliveryError], class_: FailureClass
) -> None:
    assert told(failure(status, {"error": {"code": 1, "message": "no"}}))[:2] == (kind, class_)


@pytest.mark.parametrize(
    ("body", "ok"),
    [(b'{"ok": true}', True), (b'{"ok": 0}', True), (b'{"ok": false}', False), (b"{}", False)],
)
def test_a_field_can_say_that_a_call_succeeded(body: bytes, ok: bool) -> None:
    assert read_answer(PlatformAnswer(status=200, body=body), SLACK).ok is ok


def test_a_refusal_with_a_status_of_success_is_final_only_if_it_says_why() -> None:
    named = read_answer(
        PlatformAnswer(status=200, body=b'{"ok": false, "error": "no_text"}'), SLACK
    )
    silent = read_answer(PlatformAnswer(status=200, body=b'{"ok": false}'), SLACK)

    assert told(failure_by(named, (), platform="example"))[0] is DeliveryRejected
    assert told(failure_by(silent, (), platform="example"))[0] is DeliveryUnknown


def test_what_a_platform_says_is_masked_cut_and_on_one_line() -> None:
    body = msgspec.json.encode({"error": {"message": "bad token s3cret \n" + "x" * 500}})
    found = read_answer(
        PlatformAnswer(status=400, body=body), META, mask=lambda text: text.replace("s3cret", "*")
    )

    assert found.sentence == ("bad token * " + "x" * 500)[:200]


@pytest.mark.parametrize("wait", ["3", -1, True, 1e300, None, {}])
def test_a_wait_is_a_bounded_number(wait: object) -> None:
    row = AnswerRow(wait="retry_after")
    body = msgspec.json.encode({"retry_after": wait})
    found = read_answer(PlatformAnswer(status=429, body=body, retry_after=7.0), row)

    assert found.retry_after in {7.0, 0.0, 86_400.0}


@given(st.binary(max_size=300), st.integers(100, 599))
def test_any_answer_is_read(body: bytes, status: int) -> None:
    said = read_answer(PlatformAnswer(status=status, body=body), META)

    assert (failure_by(said, ROWS, platform="example") is None) == said.ok


def test_an_answer_in_another_shape_leaves_it_open() -> None:
    assert as_shape({"a": "b"}, dict[str, str], platform="example") == {"a": "b"}
    with pytest.raises(DeliveryUnknown, match="cannot be read"):
        as_shape({"a": 1}, dict[str, str], platform="example")


@pytest.mark.parametrize(
    ("path", "value"),
    [("a.0.b", 1), ("a.1", None), ("a.x", None), ("", None), ("a.0.b.c", None), ("a.-1", None)],
)
def test_a_path_goes_into_objects_and_lists(path: str, value: object) -> None:
    assert field_of({"a": [{"b": 1}]}, path) == value
