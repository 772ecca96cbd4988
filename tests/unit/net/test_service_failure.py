"""What a refusal means for the next candidate, and what a 200 means that is no answer."""

import msgspec
import pytest

from hermes.errors import PromptTooLong, ProviderError, ProviderRejected, ProviderUnavailable
from hermes.net.retry_after import rest_after, retry_after
from hermes.provider_kit.service_failure import failure, reported, unusable


def said(message: str, **fields: object) -> bytes:
    return msgspec.json.encode({"error": {"message": message, **fields}})


def rejected(status: int, body: bytes) -> ProviderRejected:
    error = failure("m", status, headers={}, body=body, secret=None)
    assert isinstance(error, ProviderRejected)
    return error


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, said("messages: roles must alternate", type="invalid_request_error")),
        (400, said("Invalid type for 'messages[0].content': expected a string, got a number.")),
        (
            400,
            said("`tool_use` ids were found without `tool_result` blocks", code=None, param=None),
        ),
        (400, b'{"error":"messages must not be empty"}'),
        (413, said("the request is enormous")),
        (422, b'{"detail":"body.messages: field required"}'),
    ],
)
def test_what_every_service_would_refuse_is_told_apart(status, body):
    error = rejected(status, body)

    assert (error.everywhere, error.status) == (True, status)


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, said("no", code="context_length_exceeded")),
        (400, said("no", param="model")),
        (400, said("no", type="unsupported_value")),
        (400, said("This model's maximum context length is 128000 tokens.")),
        (400, said("prompt is too long: 210000 tokens > 200000 maximum")),
        (400, said("Unknown parameter: 'reasoning'.")),
        (400, said("top_k: Extra inputs are not permitted")),
        (400, said("The response was filtered due to the content management policy.")),
        (400, said("API key not valid. Please pass a valid API key.")),
        (400, said("Your credit balance is too low to access the API.")),
        (400, said("Invalid schema for response_format 'answer'")),
        (400, said("User location is not served")),
        (400, b"<html>400 Bad Request</html>"),
        (400, b""),
        (413, said("Request too large for model on tokens per minute")),
        (401, said("messages: roles must alternate")),
        (403, said("messages: roles must alternate")),
        (404, said("messages: roles must alternate")),
        (405, said("messages: roles must alternate")),
        (308, said("messages: roles must alternate")),
    ],
)
def test_what_is_the_services_own_matter_leaves_the_next_candidate_its_try(status, body):
    error = rejected(status, body)

    assert (error.everywhere, error.status) == (False, status)


@pytest.mark.req("A23")
def test_a_missing_model_says_what_to_do():
    plain = rejected(404, said("no such model"))
    pulled = failure("m", 404, headers={}, body=b"", secret=None, absent="pull it")

    assert str(plain).endswith(
        "no such model; check the name of the model and providers.m.base_url"
    )
    assert str(pulled).endswith("404: it gave no reason; pull it")


@pytest.mark.req("A26")
@pytest.mark.parametrize("wait", ["nan", "inf", "-inf", "1e999"])
def test_a_wait_that_is_no_number_of_seconds_is_none(wait):
    assert retry_after({"Retry-After": wait}) is None
    assert retry_after({"Retry-After-Ms": wait, "Retry-After": "2"}) == 2.0


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (said("slow down", code=429), ProviderUnavailable, 429),
        (said("slow down", code="429"), ProviderUnavailable, None),
        (said("roles must alternate", code=400), ProviderRejected, 400),
        (said("down", code="server_error"), ProviderUnavailable, None),
        (said("down", code=7), ProviderUnavailable, None),
        (b'{"error":"down"}', ProviderUnavailable, None),
    ],
)
def test_an_error_inside_a_200_is_as_good_as_the_status_it_names(body, kind, status):
    error = reported("m", body, secret=None)

    assert (type(error), error.status) == (kind, status)


@pytest.mark.req("A23", "W35")
def test_a_200_that_is_no_answer_says_what_it_is_or_what_it_says():
    def met(body: bytes) -> ProviderError:
        return unusable("m", body, found="text/html", expected="JSON", secret="hidden")

    assert str(met(b"<html>")) == (
        "m: the service answered 200 with text/html, expected JSON: check that providers.m.base_url"
        " is the address of its API"
    )
    assert str(met(said("no hidden thing"))).endswith("inside its answer: no **** thing")


@pytest.mark.req("G5", "A6")
@pytest.mark.parametrize(
    "body",
    [
        said("no", code="context_length_exceeded"),
        said("no", type="exceed_context_size_error"),
        said("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
        said("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        said(
            "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."
        ),
        said("This model's maximum context length is 32000 tokens. However, you requested 40000."),
        b'{"error":"the input length exceeds the context length"}',
    ],
)
def test_a_prompt_that_a_service_calls_too_long_is_known_as_that(body):
    error = rejected(400, body)

    assert isinstance(error, PromptTooLong)
    assert (error.status, error.everywhere) == (400, False)


@pytest.mark.req("G5")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, said("max_tokens is too large: 9000", code="invalid_value")),
        (429, said("Limit 30000 tokens per minute", code="context_length_exceeded")),
        (404, said("maximum context length is unknown: there is no such model")),
    ],
)
def test_no_other_refusal_is_taken_for_that(status, body):
    assert not isinstance(failure("m", status, headers={}, body=body, secret=None), PromptTooLong)


@pytest.mark.req("G5")
@pytest.mark.parametrize(
    ("words", "counts_output"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", False),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", True),
        (
            "This model's maximum context length is 4097 tokens. However, you requested 4500 tokens"
            " (500 in the messages, 4000 in the completion).",
            True,
        ),
        (
            "'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192"
            " tokens and your request has 100 input tokens.",
            True,
        ),
    ],
)
def test_a_service_that_counts_the_output_limit_too_says_so(words, counts_output):
    for error in (rejected(400, said(words)), reported("m", said(words), secret=None)):
        assert isinstance(error, PromptTooLong)
        assert error.counts_output == counts_output


@pytest.mark.req("G5")
def test_a_prompt_that_is_called_too_long_inside_a_200_is_known_as_that():
    error = reported("m", said("no", code="context_length_exceeded"), secret=None)

    assert isinstance(error, PromptTooLong)
    assert error.status == 400


@pytest.mark.req("A23", "M1")
@pytest.mark.parametrize(
    ("headers", "rest"),
    [
        ({}, 0.0),
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "6m0s"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7"}, 7.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s" * 99 + "x"}, 0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:09Z",
                "Date": "Thu, 01 Jan 2026 00:00:00 GMT",
            },
            9.0,
        ),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:09Z",
            },
            0.0,
        ),
    ],
)
def test_a_rate_limit_that_is_used_up_says_when_it_is_full_again(headers, rest):
    assert rest_after(headers) == rest
    assert retry_after(headers) == (rest or None)
    assert retry_after({**headers, "Retry-After": "3"}) == 3.0


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize("status", [413, 429])
def test_a_request_larger_than_a_minutes_allowance_is_too_long_not_rate_limited(status):
    words = "Request too large for m-1 on tokens per min (TPM): Limit 30000, Requested 45000."

    error = failure(
        "m",
        status,
        headers={"Retry-After": "60"},
        body=said(words, type="tokens", code="rate_limit_exceeded"),
        secret=None,
    )

    assert isinstance(error, PromptTooLong)
    assert (error.status, error.counts_output, error.everywhere) == (status, True, False)


@pytest.mark.req("A23", "P5")
def test_any_other_429_is_a_matter_of_time():
    words = "Rate limit reached for m-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."

    error = failure(
        "m", 429, headers={"Retry-After": "6"}, body=said(words, type="tokens"), secret=None
    )

    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == 6
