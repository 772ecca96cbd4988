"""Whose fault a failed model call is, as the caller can act on it."""

import pytest

from hermes.errors import ProviderError, ProviderRejected, ProviderTimeout, ProviderUnavailable
from hermes.server.v1.anthropic_errors import anthropic_error, anthropic_refusal
from hermes.server.v1.blame import blame_of
from hermes.server.v1.openai_errors import openai_error, openai_refusal

TOO_LONG = ProviderRejected("This model's maximum context length is 8192 tokens", status=400)


@pytest.mark.req("A23", "M1")
@pytest.mark.parametrize(
    ("error", "blame", "openai", "anthropic"),
    [
        (TOO_LONG, "length", 400, 400),
        (ProviderRejected("bad", status=400), "request", 400, 400),
        (ProviderRejected("bad", everywhere=True), "request", 400, 400),
        (ProviderRejected("no such model", status=404), "model", 404, 404),
        (ProviderRejected("wrong key", status=401), "service", 502, 502),
        (ProviderUnavailable("slow down", 7.0, status=429), "rate", 429, 429),
        (ProviderUnavailable("down", 7.0, status=503), "later", 503, 503),
        (ProviderUnavailable("down", status=500), "service", 502, 502),
        (ProviderTimeout("silence"), "service", 504, 504),
    ],
)
def test_what_a_service_did_not_like_reaches_the_caller(
    error: ProviderError, blame: str, openai: int, anthropic: int
) -> None:
    assert blame_of(error) == blame
    assert openai_refusal(error).status == openai
    assert anthropic_refusal(error).status == anthropic


@pytest.mark.req("M1")
def test_too_long_a_prompt_is_said_in_the_words_that_clients_look_for() -> None:
    openai, anthropic = openai_error(TOO_LONG)["error"], anthropic_error(TOO_LONG)["error"]

    assert isinstance(openai, dict)
    assert openai["code"] == "context_length_exceeded"
    assert isinstance(anthropic, dict)
    assert str(anthropic["message"]).startswith("prompt is too long")


@pytest.mark.req("A23", "M1")
@pytest.mark.parametrize(
    ("error", "status", "code", "param"),
    [
        (ProviderRejected("no", status=400), 400, "unsupported_value", "top_p"),
        (ProviderRejected("no", status=422), 422, "unsupported_value", "top_p"),
        (ProviderRejected("no such model", status=404), 404, "model_not_found", "top_p"),
        (ProviderRejected("wrong key", status=401), 502, "provider_rejected", None),
        (ProviderUnavailable("slow down", status=429), 429, "rate_limit_exceeded", "top_p"),
        (ProviderUnavailable("down", status=500), 502, "unsupported_value", "top_p"),
    ],
)
def test_the_names_that_a_service_gives_an_error_reach_the_caller_whom_they_concern(
    error: ProviderError, status: int, code: str, param: str | None
) -> None:
    error.named("unsupported_value", "top_p")

    told = openai_error(error)["error"]

    assert isinstance(told, dict)
    assert (openai_refusal(error).status, told["code"], told["param"]) == (status, code, param)


@pytest.mark.req("M1")
def test_an_empty_account_at_the_service_is_not_a_rate() -> None:
    error = ProviderUnavailable("no money", status=429).named("insufficient_quota", None)

    told = openai_error(error)["error"]

    assert isinstance(told, dict)
    assert told["code"] == "insufficient_quota"
