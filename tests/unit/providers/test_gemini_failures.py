"""What Google's answers other than 200 mean for the caller."""

import msgspec
import pytest

from hermes.errors import ProviderUnavailable
from hermes.providers.gemini.failures import failure


def status(code: int, message: str = "", **fields: object) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message, **fields}})


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (400, status(400, status="INVALID_ARGUMENT"), "provider_rejected"),
        (400, status(400, status="FAILED_PRECONDITION"), "provider_unavailable"),
        (401, b"{}", "provider_rejected"),
        (403, status(403, status="PERMISSION_DENIED"), "provider_rejected"),
        (404, b"[]", "provider_rejected"),
        (308, b"", "provider_rejected"),
        (402, b"{}", "provider_unavailable"),
        (408, b"{}", "provider_unavailable"),
        (429, status(429, status="RESOURCE_EXHAUSTED"), "provider_unavailable"),
        (499, status(499, status="CANCELLED"), "provider_unavailable"),
        (500, b"<html>", "provider_unavailable"),
        (503, status(503, status="UNAVAILABLE"), "provider_unavailable"),
        (504, b"\xff", "provider_unavailable"),
    ],
)
def test_an_answer_other_than_200_says_what_the_caller_can_do(code, body, kind):
    assert failure("m", code, headers={}, body=body, secret=None).code == kind


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "body",
    [
        status(400, "API key not valid: my-own-secret"),
        status(403, "consumer AIzaSyD-someone-elses is suspended"),
        b"[" + status(400, "see https://example.org/?key=someone-elses&alt=sse") + b"]",
        b'{"error":"bad key my-own-secret"}',
        b"<html>my-own-secret</html>" + b"x" * 5000,
    ],
)
def test_the_services_words_are_short_and_without_secrets(body):
    text = str(failure("m", 400, headers={}, body=body, secret="my-own-secret"))

    assert "****" in text
    assert len(text) < 600
    assert not any(word in text for word in ("my-own-secret", "someone-elses"))


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("headers", "delay", "seconds"),
    [
        ({"Retry-After": "2.5"}, None, 2.5),
        ({"Retry-After": "2.5"}, "30s", 2.5),
        ({}, "30s", 30.0),
        ({}, "8.941621227s", 8.941621227),
        ({}, "soon", None),
        ({}, None, None),
    ],
)
def test_the_services_own_waiting_time_is_kept(headers, delay, seconds):
    details = [
        {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]

    error = failure("m", 429, headers=headers, body=status(429, details=details), secret=None)

    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == seconds


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    ("details", "code", "param"),
    [
        ([], "INVALID_ARGUMENT", None),
        ([{"reason": "API_KEY_INVALID"}], "API_KEY_INVALID", None),
        ([{"fieldViolations": [{"field": "tools[0].name"}]}], "INVALID_ARGUMENT", "tools[0].name"),
        ([{"reason": "two words"}], None, None),
    ],
)
def test_the_services_code_and_field_are_kept(details, code, param):
    body = status(422, status="INVALID_ARGUMENT", details=details)

    error = failure("m", 422, headers={}, body=body, secret=None)

    assert (error.status, error.service_code, error.param) == (422, code, param)


@pytest.mark.req("A23")
def test_a_request_that_cannot_be_processed_is_refused_whatever_google_calls_it():
    body = status(422, status="FAILED_PRECONDITION")

    assert failure("m", 422, headers={}, body=body, secret=None).code == "provider_rejected"
