"""Errors as Anthropic's clients read them: status, type, and when to try again."""

import msgspec
import pytest

from hermes import errors
from hermes.errors import HermesError
from hermes.server.v1.anthropic_errors import anthropic_refusal
from hermes.server.v1.messages import MessagesDialect

UNAVAILABLE = errors.ProviderUnavailable


@pytest.mark.req("M2", "A22", "A23")
@pytest.mark.parametrize(
    ("error", "status", "kind", "headers"),
    [
        (errors.BadRequest("t"), 400, "invalid_request_error", {}),
        (
            errors.Unauthenticated("t"),
            401,
            "authentication_error",
            {"www-authenticate": "Bearer"},
        ),
        (errors.Forbidden("t"), 403, "permission_error", {}),
        (errors.NotFound("t"), 404, "not_found_error", {}),
        (errors.Conflict("t"), 409, "invalid_request_error", {"x-should-retry": "false"}),
        (errors.TooLarge("t"), 413, "request_too_large", {"connection": "close"}),
        (errors.OverBudget("t", 30.2), 429, "rate_limit_error", {"retry-after": "31"}),
        (
            errors.OverBudget("t", 7200),
            429,
            "rate_limit_error",
            {"retry-after": "7200", "x-should-retry": "false"},
        ),
        (
            errors.ModelsStopped("t", 0),
            503,
            "api_error",
            {"retry-after": "1", "x-should-retry": "false"},
        ),
        (errors.Overloaded("t", 5), 529, "overloaded_error", {"retry-after": "5"}),
        (errors.StorageFull("t", 5), 529, "overloaded_error", {"retry-after": "5"}),
        (UNAVAILABLE("t"), 502, "api_error", {}),
        (UNAVAILABLE("t", 9), 503, "api_error", {"retry-after": "9"}),
        (errors.ProviderTimeout("t"), 504, "timeout_error", {}),
        (errors.StreamTruncated("t"), 502, "api_error", {}),
        (errors.ProviderRejected("t"), 502, "api_error", {"x-should-retry": "false"}),
        (errors.ProviderRejected("t", everywhere=True), 400, "invalid_request_error", {}),
    ],
)
def test_every_error_has_its_status_and_type(error, status, kind, headers):
    answer = MessagesDialect().refusal(error)

    assert (answer.status, answer.headers, answer.content_type) == (
        status,
        headers,
        "application/json",
    )
    assert msgspec.json.decode(answer.body) == {
        "type": "error",
        "error": {"type": kind, "message": "t"},
    }


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    "error",
    [errors.StoreError("secret"), errors.ConfigurationError("secret"), HermesError("secret")],
)
def test_inner_errors_keep_their_texts_to_the_log(error):
    answer = MessagesDialect().refusal(error)

    told = msgspec.json.decode(answer.body)["error"]
    assert (answer.status, told["type"]) == (500, "api_error")
    assert "secret" not in told["message"]


@pytest.mark.req("M2")
def test_a_request_id_stands_beside_the_error():
    answer = anthropic_refusal(errors.NotFound("t"), request_id="req_1")

    assert msgspec.json.decode(answer.body)["request_id"] == "req_1"
