"""Every error of the tree as OpenAI's clients expect it."""

import json

import pytest

from hermes.errors import (
    BadRequest,
    ConfigurationError,
    Conflict,
    Forbidden,
    HermesError,
    ModelsStopped,
    NoCredits,
    NotFound,
    OverBudget,
    Overloaded,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StorageFull,
    StoreError,
    StreamTruncated,
    TooLarge,
    Unauthenticated,
)
from hermes.server.v1.openai_errors import openai_error, openai_refusal

REQUEST = "invalid_request_error"
SERVER = "server_error"


@pytest.mark.req("M1", "A23")
@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (BadRequest("why"), 400, REQUEST, "invalid_request"),
        (Unauthenticated("why"), 401, REQUEST, "invalid_api_key"),
        (Forbidden("why"), 403, REQUEST, "permission_denied"),
        (NotFound("why"), 404, REQUEST, "model_not_found"),
        (Conflict("why"), 409, REQUEST, "conflict"),
        (TooLarge("why"), 413, REQUEST, "request_too_large"),
        (OverBudget("why", 30.0), 429, "insufficient_quota", "insufficient_quota"),
        (NoCredits("why"), 429, "insufficient_quota", "insufficient_quota"),
        (ModelsStopped("why"), 503, SERVER, "kill_switch"),
        (Overloaded("why"), 503, SERVER, "overloaded"),
        (StorageFull("why"), 503, SERVER, "storage_full"),
        (ProviderUnavailable("why"), 502, SERVER, "provider_unavailable"),
        (ProviderUnavailable("why", 3.0), 503, SERVER, "provider_unavailable"),
        (ProviderTimeout("why"), 504, SERVER, "provider_timeout"),
        (StreamTruncated("why"), 502, SERVER, "stream_truncated"),
        (ProviderRejected("why"), 502, SERVER, "provider_rejected"),
        (ProviderRejected("why", everywhere=True), 400, REQUEST, "provider_rejected"),
        (ProviderError("why"), 502, SERVER, "provider"),
    ],
)
def test_an_error_has_the_status_type_and_code_that_clients_decide_by(
    error: HermesError, status: int, kind: str, code: str
) -> None:
    answer = openai_refusal(error)
    told = {"error": {"message": "why", "type": kind, "param": None, "code": code}}
    assert (answer.status, json.loads(answer.body)) == (status, told)
    assert answer.content_type == "application/json"


@pytest.mark.req("W35")
@pytest.mark.parametrize("error", [StoreError("/home/x.db is broken"), ConfigurationError("key=1")])
def test_what_only_the_operator_can_mend_is_told_without_its_text(error: HermesError) -> None:
    answer = openai_refusal(error)
    told = openai_error(error)["error"]
    assert answer.status == 500
    assert isinstance(told, dict)
    assert told["code"] == "internal_error"
    assert str(error) not in answer.body.decode()


@pytest.mark.req("A20", "A21")
@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (Overloaded("full", 4.2), {"retry-after": "5"}),
        (Overloaded("full", 0.0), {"retry-after": "1"}),
        (ProviderUnavailable("busy", 7.0), {"retry-after": "7"}),
        (ProviderUnavailable("down"), {}),
        (OverBudget("spent", 60.0), {"retry-after": "60"}),
        (OverBudget("spent", 3600.0), {"retry-after": "3600", "x-should-retry": "false"}),
        (Unauthenticated("who"), {"www-authenticate": "Bearer"}),
        (TooLarge("big"), {"connection": "close"}),
        (BadRequest("no"), {}),
    ],
)
def test_the_headers_say_when_to_come_back(error: HermesError, headers: dict[str, str]) -> None:
    assert openai_refusal(error).headers == headers
