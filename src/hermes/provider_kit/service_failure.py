"""What a model service's answer other than a proper 200 means: its own text, without secrets.

It is used by every provider that speaks HTTP and knows no dialect: it parses the shapes in which
services wrap a message.
"""

import re
from collections.abc import Mapping

import msgspec

from hermes.errors import PromptTooLong, ProviderError, ProviderRejected, ProviderUnavailable
from hermes.net.retry_after import finite_number, retry_after

MAX_ERROR_BYTES = 65_536
_MAX_TEXT = 500
_MAX_REASON = 20_000
# 402: the account is out of money; 408, 409, 425, 429: retry later. Another candidate may work.
_NOT_NOW = frozenset({402, 408, 409, 425, 429})
_OF_THE_REQUEST = frozenset({400, 413, 422})
_NOT_FOUND = 404
_BAD_REQUEST = 400
_LOWEST_FAILURE, _HIGHEST_FAILURE = 400, 599
_KEY_LOOK = re.compile(r"\b(?:sk|rk|pk)-[\w*.-]{4,}|(?<=[Bb]earer )\S+")
_TAG = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"\s+")
# Names that a service may give an error: one word, and a path into the request.
_CODE = re.compile(r"[A-Za-z][\w.:/-]{0,63}")
_PARAM = re.compile(r"[\w$][\w.\[\]$:/*-]{0,199}")
# Reasons for which one service refuses a request that another may accept: its model, its
# parameters, its limits, its filter, this account. Few services have codes for these, so the words
# are checked as well; a superfluous word costs another try, a missing word would keep a candidate
# from being tried.
_OWN_MATTER = re.compile(
    r"model|context|token|param|support|unknown|unrecogni[sz]ed|unexpected|extra|permitted|allowed"
    r"|deprecat|feature|schema|format|too (?:long|large|many|big)|exceed|maximum|at most|limit"
    r"|filter|polic(?:y|ies)|safety|moderat|flagged|key|account|billing|credit|balance|quota"
    r"|organi[sz]ation|region|location|country",
    re.IGNORECASE,
)

# How services name a prompt that exceeds the context: by a code or a type, or else by their exact words.
_TOO_LONG_CODES = frozenset(
    {'"context_length_exceeded"', '"exceed_context_size_error"', '"context_window_exceeded"'}
)
_TOO_LONG_WORDS = (
    "prompt is too long",  # Anthropic
    "exceed context limit",  # Anthropic: prompt and max_tokens together
    "exceeds the maximum number of tokens allowed",  # Gemini
    "maximum context length is",  # servers with OpenAI's words and no code
    "exceeds the available context size",  # llama.cpp
    "exceeds the context length",  # Ollama
)
# How a service says that one request is larger than what it takes in a whole minute: OpenAI with 429,
# Groq with 413. Waiting does not help, and others can be served.
_TOO_LARGE_STATUSES = frozenset({413, 429})
_TOO_LARGE_WORDS = "Request too large for "
# How those say it that count the prompt and the output limit together: Anthropic, vLLM, OpenAI.
_COUNTS_OUTPUT_WORDS = ("max_tokens", "max_completion_tokens", "in the completion")


class _Detail(msgspec.Struct):
    message: str | None = None
    # Raw: strings or numbers, as each service likes.
    code: msgspec.Raw = msgspec.Raw()
    type: msgspec.Raw = msgspec.Raw()
    param: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct):
    error: _Detail | str | None = None
    message: str | None = None
    detail: str | None = None
    code: msgspec.Raw = msgspec.Raw()
    param: msgspec.Raw = msgspec.Raw()

    @property
    def words(self) -> str:
        if isinstance(self.error, _Detail):
            return self.error.message or ""
        return self.error or self.message or self.detail or ""

    @property
    def reason(self) -> str:
        """All texts that give the reason: the message, and the names beside it."""
        told = self.error
        if not isinstance(told, _Detail):
            return self.words
        named = (bytes(raw).decode(errors="replace") for raw in (told.code, told.type, told.param))
        return " ".join((self.words, *named)).strip()

    @property
    def is_too_long(self) -> bool:
        """Whether the service refuses a prompt because its model cannot hold it."""
        told = self.error
        if isinstance(told, _Detail):
            named = {
                bytes(told.code).decode(errors="replace"),
                bytes(told.type).decode(errors="replace"),
            }
            if named & _TOO_LONG_CODES:
                return True
        return any(words in self.words for words in _TOO_LONG_WORDS)

    @property
    def is_too_large(self) -> bool:
        """Whether one request is larger than what the service takes in a minute."""
        return self.words.startswith(_TOO_LARGE_WORDS)

    @property
    def counts_output(self) -> bool:
        """Whether a service that finds a prompt too long says that it added the output limit."""
        return any(words in self.words for words in _COUNTS_OUTPUT_WORDS)


def failure(
    name: str,
    status: int,
    *,
    headers: Mapping[str, str],
    body: bytes,
    secret: str | None,
    absent: str = "",
) -> ProviderError:
    """Return the error for the answer `status`; `absent` is the advice after a 404."""
    error = _failure(name, status, headers=headers, body=body, secret=secret, absent=absent)
    return _with_names(error, _read(body), secret=secret)


def _failure(
    name: str,
    status: int,
    *,
    headers: Mapping[str, str],
    body: bytes,
    secret: str | None,
    absent: str,
) -> ProviderError:
    said = mask(words_of(body), secret=secret) or "it gave no reason"
    found = _read(body)
    if found is not None and status in _TOO_LARGE_STATUSES and found.is_too_large:
        # Their allowance counts the output limit, too.
        text = f"{name}: the service refused the request with {status}: {said}"
        return PromptTooLong(text, status=status, counts_output=True)
    if status in _NOT_NOW or status >= 500:
        return ProviderUnavailable(
            f"{name}: the service answered {status}: {said}", retry_after(headers), status=status
        )
    if 300 <= status < 400:
        return ProviderRejected(
            f"{name}: the service answered {status}, a redirect, which is not followed: set"
            f" providers.{name}.base_url to the final address",
            status=status,
        )
    if status == _NOT_FOUND:
        said = f"{said}; {absent or f'check the name of the model and providers.{name}.base_url'}"
    if found is not None and status in _OF_THE_REQUEST and found.is_too_long:
        return PromptTooLong(
            f"{name}: the service refused the request with {status}: {said}",
            status=status,
            counts_output=found.counts_output,
        )
    return ProviderRejected(
        f"{name}: the service refused the request with {status}: {said}",
        everywhere=found is not None and is_refused_everywhere(status, found.reason),
        status=status,
    )


def reported(name: str, body: bytes, *, secret: str | None) -> ProviderError:
    """Return the error for an error object that came inside a 200, before any output."""
    found = _read(body)
    code = _code_of(found)
    if code is not None:
        return failure(name, code, headers={}, body=body, secret=secret)
    said = mask("" if found is None else found.words, secret=secret) or "it gave no reason"
    error: ProviderError = ProviderUnavailable(
        f"{name}: the service reported an error inside its answer: {said}"
    )
    if found is not None and found.is_too_long:
        text = f"{name}: the service reported an error: {said}"
        error = PromptTooLong(text, status=_BAD_REQUEST, counts_output=found.counts_output)
    return _with_names(error, found, secret=secret)


def unusable(
    name: str, body: bytes, *, found: str, expected: str, secret: str | None
) -> ProviderError:
    """Return the error for a 200 that is `found` instead of `expected`, in its own text if any."""
    told = _read(body)
    if told is not None and told.reason:
        return reported(name, body, secret=secret)
    return ProviderUnavailable(
        f"{name}: the service answered 200 with {mask(found, secret=secret)}, expected {expected}:"
        f" check that providers.{name}.base_url is the address of its API"
    )


def is_refused_everywhere(status: int, reason: str) -> bool:
    """Return whether any other service would refuse the request for the same `reason`.

    Without a reason this is unknown: then only this service counts as refusing.
    """
    return (
        status in _OF_THE_REQUEST and bool(reason) and not _OWN_MATTER.search(reason[:_MAX_REASON])
    )


def safe_code(code: str | None, *, secret: str | None) -> str | None:
    """Return a service's code of an error if it is one word and no credential."""
    is_name = code is not None and _CODE.fullmatch(code) and mask(code, secret=secret) == code
    return code if is_name else None


def safe_param(param: str | None, *, secret: str | None) -> str | None:
    """Return the field that a service names if it is a path and no credential."""
    is_path = param is not None and _PARAM.fullmatch(param) and mask(param, secret=secret) == param
    return param if is_path else None


def mask(text: str, *, secret: str | None) -> str:
    """Return `text` on one line, cut, and without the key or anything that looks like one."""
    if secret:
        text = text.replace(secret, "****")
    return _SPACE.sub(" ", _KEY_LOOK.sub("****", text)).strip()[:_MAX_TEXT]


def words_of(body: bytes) -> str:
    """Return the message inside an error body; if it is not JSON, the body without its tags."""
    found = _read(body)
    if found is not None:
        return found.words
    text = body.decode(errors="replace").strip()
    return _TAG.sub(" ", text) if text.startswith("<") else text


def _read(body: bytes) -> _Body | None:
    try:
        return msgspec.json.decode(body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _with_names(error: ProviderError, found: _Body | None, *, secret: str | None) -> ProviderError:
    """Add the service's own code, and the field that it names, to the error."""
    if found is None:
        return error
    told = found.error if isinstance(found.error, _Detail) else found
    code = safe_code(_text_in(told.code), secret=secret)
    return error.named(code, safe_param(_text_in(told.param), secret=secret))


def _text_in(raw: msgspec.Raw) -> str | None:
    """Return a JSON string, or None for anything else."""
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _code_of(found: _Body | None) -> int | None:
    """Return the HTTP status in an error object, if it has one."""
    if found is None or not isinstance(found.error, _Detail):
        return None
    code = finite_number(bytes(found.error.code).decode(errors="replace"))
    is_status = code is not None and _LOWEST_FAILURE <= code <= _HIGHEST_FAILURE
    return int(code) if is_status and code is not None else None
