"""What a service says about a failure, without what it quotes of the request."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import hermes
from hermes.provider_kit.echo import MASK, without_echo

SENT = (
    b'{"model":"claude-haiku-4-5-20251001","messages":[{"role":"system","content":"What is known'
    b' of them:\\n- home_city: Kestrel Valley 7"},{"role":"user","content":"Where do I live?"}]}'
)
HEADERS = {
    "Authorization": "Bearer key-1234567890abcdef",
    "X-Gateway-Key": "fedcba0987654321",
    "Content-Type": "application/json",
}
SAID = (
    "Tell nobody SECRET-alpha-4711, my shrink is Dr. Oyelaran, a1-b2-c3-d4 opens the safe. Write to"
    " ann.lee@example.org, call 555-01-99, pay with 4111 1111 1111 1111. Ann was in Zürich with Bo"
    " & Müller. I'm pregnant. 我住在北京朝阳区"
)
ARGUMENTS = '{"query":"hydrangea","town":"Malm\\u00f6","pin":90210}'


def clean(words: str) -> str:
    return without_echo(words, SENT, headers=HEADERS)


def body_of(said: str, *, more: str = "") -> bytes:
    """Return a request with words in every place where somebody's can stand."""
    return msgspec.json.encode(
        {
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": more},
                {"role": "user", "content": [{"type": "text", "text": said}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": ARGUMENTS},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "the fiddlestick is wet"},
            ],
            "max_completion_tokens": 77_777,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "get_weather",
                        "description": "Tells the weather of a town.",
                        "parameters": {"type": "object", "properties": {"town": {}}},
                    },
                }
            ],
        }
    )


def told(words: str, sent: bytes) -> str:
    return without_echo(
        words, sent, headers=HEADERS, names=("cloudy", "https://api.cloudy.test/v1")
    )


@pytest.mark.req("A30", "W35")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("refused with 400: too many tokens", "refused with 400: too many tokens"),
        ("no model claude-haiku-4-5-20251001 here", "no model claude-haiku-4-5-20251001 here"),
        ("expected application/json", "expected application/json"),
        ("said - home_city: Kestrel Valley 7 here", "said **** here"),
        (f"cannot read {SENT.decode()}", "cannot read ****"),
        ("wrong key key-1234567890abcdef given", "wrong key **** given"),
        ("seen: Bearer key-1234567890abcdef, x: fedcba0987654321!", "seen: Bearer ****, x: ****!"),
        # Cut off somewhere by whoever told it.
        ("wrong key key-12345678", "wrong key ****"),
        ("twice fedcba0987 and fedcba0987654321", "twice **** and ****"),
    ],
)
def test_neither_the_request_nor_its_credentials_are_told(words: str, told: str) -> None:
    assert clean(words) == told


@pytest.mark.req("A30", "W34")
@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("invalid content: SECRET-alpha-4711", "invalid content: ****"),
        ("'secret-ALPHA-4711' is not allowed", "'****' is not allowed"),
        ("unexpected token near alpha.", "unexpected token near ****."),
        ("the value 4711 is out of range", "the value **** is out of range"),
        ("flagged: pregnant", "flagged: ****"),
        ("flagged: PREGN... (cut)", "flagged: ****... (cut)"),
        ('value="Oyelaran"', 'value="****"'),
        ("bad value a1-b2-c3-d4!", "bad value ****!"),
        ("bad address ann.lee@example.org", "bad address ****"),
        ("bad number 555-01-99", "bad number ****"),
        ("bad card 4111 1111 1111 1111", "bad card ****"),
        ("Ann and Bo were named", "**** and **** were named"),
        ("not UTF-8: Z\\u00fcrich", "not UTF-8: ****"),
        ("not UTF-8: \\nZürich", "not UTF-8:  ****"),
        ("<b>M&uuml;ller</b> and M&#252;ller", "<b>****</b> and ****"),
        ("内容违规:北京", "内容违规:****"),
        ("内容北京违规", "内容****违规"),
        # What tools were asked and what they answered.
        ("no such plant: hydrangea", "no such plant: ****"),
        ("town Malmö, pin 90210", "town ****"),
        ("odd result fiddlestick", "odd result ****"),
    ],
)
def test_not_one_word_of_somebody_is_told(words: str, left: str) -> None:
    sent = body_of(SAID)

    assert told(words, sent) == left


USEFUL = (
    "cloudy: the service refused the request with 400: This model's maximum context length is 8192"
    " tokens. However, your messages resulted in 10340 tokens. Please reduce the length of the"
    " messages.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
    " 'max_completion_tokens' instead.",
    "The model `gpt-4o-mini` does not exist or you do not have access to it.",
    "You exceeded your current quota, please check your plan and billing details. For more"
    " information on this error, read the docs: https://api.cloudy.test/docs/error-codes.",
    "Rate limit reached for gpt-4o-mini in organization on tokens per min (TPM): Limit 30000, Used"
    " 29500, Requested 1200. Please try again in 1.4s.",
    "Invalid schema for function 'get_weather': In context=('properties', 'town'), schema must have"
    " a 'type' key.",
    "messages.1.content.0.text.text: Field required",
    "messages: text content blocks must be non-empty",
    "prompt is too long: 212345 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input"
    " length or `max_tokens` and try again",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to"
    " upgrade or purchase credits.",
    "`tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` block"
    " must have a corresponding `tool_result` block in the next message.",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'.",
    "API key not valid. Please pass a valid API key.",
    "Invalid JSON payload received. Unknown name \"foo_bar\" at 'contents[0].parts[0]': Cannot find"
    " field.",
    "The model is overloaded. Please try again later.",
    "User location is not supported for the API use.",
    "model requires more system memory (5.6 GiB) than is available (3.1 GiB)",
    "Incorrect API key provided. You can find your API key at the dashboard of your account.",
    "Invalid value: 'tools'. Supported values are: 'system', 'assistant', 'user', 'function'.",
    "temperature: range: -1..1",
    "Internal server error (request id req_0123abc): the upstream connection timed out after 600"
    " seconds",
    "Your request was rejected by the safety system; it was flagged by the content policy.",
)


def every_word_of(words: str) -> str:
    """Return the words in another order, so that no phrase of them is left, without numbers."""
    apart = words.replace('"', " ").replace("'", " ").replace("`", " ").split()
    kept = [word for word in apart if not any(map(str.isdigit, word)) and "foo" not in word]
    return " and ".join(sorted(kept))


@pytest.mark.req("A30")
@pytest.mark.parametrize("words", USEFUL)
def test_an_operator_reads_what_helps_even_if_the_person_used_every_word_of_it(words: str) -> None:
    sent = body_of(SAID, more=every_word_of(words))

    assert told(words, sent) == words


def our_words() -> Iterator[str]:
    """Yield what Hermes itself says around the words of a service."""
    package = Path(hermes.__file__).parent
    for path in (*package.glob("net/*.py"), *package.glob("providers/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.fullmatch(
                r"Provider\w+|StreamTruncated", ast.unparse(node.func)
            ):
                texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
                yield from (text for text in texts if isinstance(text, str))


@pytest.mark.req("A30")
def test_what_hermes_says_itself_is_never_masked() -> None:
    ours = sorted({word for text in our_words() for word in re.findall(r"\w+", text)})
    sent = body_of(SAID, more=" zz ".join(ours))

    assert len(ours) > 100
    masked = [word for word in ours if told(word, sent) != word]
    assert masked == []


@pytest.mark.req("A30")
def test_what_the_request_does_not_have_is_told() -> None:
    words = "Zanzibar project proj_9f (eu-west-3) has 65536 left; trace 00-4bf92f3577b34da6-01"

    assert told(words, body_of(SAID)) == words


@pytest.mark.req("A30")
@pytest.mark.parametrize("field", ["input", "prompt", "contents", "system", "user", "anything"])
def test_every_field_but_settings_may_hold_somebodys_words(field: str) -> None:
    sent = msgspec.json.encode({"model": "m", field: ["hydrangea"]})

    assert told("no hydrangea", sent) == "no ****"


@pytest.mark.req("A30")
@pytest.mark.parametrize("sent", [b"\xff hydrangea", b"hydrangea", b'["hydrangea"]', b"[" * 5_000])
def test_a_body_of_any_other_kind_is_compared_as_it_is(sent: bytes) -> None:
    assert (told("no hydrangea", sent) == f"no {MASK}") == (b"hydrangea" in sent)


@pytest.mark.req("A30")
@pytest.mark.parametrize(
    ("joint", "left"), [("/", "no xaki"), (",", f"no {MASK}"), ("\n", f"no {MASK}")]
)
def test_a_file_in_the_request_hides_no_word_of_the_failure(joint: str, left: str) -> None:
    # In some megabytes of letters every short word stands somewhere; a table is somebody's words.
    words = ("aaaa", "bbbb", "xaki", "cccc") * 300
    sent = msgspec.json.encode(
        {"messages": [{"url": f"data:image/png;base64,{joint.join(words)}"}]}
    )

    assert told("no xaki", sent) == left


@pytest.mark.req("A30")
def test_a_long_request_is_compared_quickly() -> None:
    sent = b'{"messages":"' + b"all work and no play " * 50_000 + b'"}'

    assert without_echo("x" * 500, sent, headers={}) == "x" * 500


@pytest.mark.parametrize("number", ["&#" + "1" * 5000, "&#x" + "f" * 5000])
def test_a_number_too_long_for_a_character_is_no_failure(number: str) -> None:
    said = f"wrong: {number}; or {number}"
    assert without_echo(said, b'{"a":"x"}', headers={}).startswith("wrong: \ufffd or ")
    assert without_echo("wrong", number.encode() + b";", headers={}) == "wrong"
