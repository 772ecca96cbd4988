"""Every kind of answer, as data, and what of it each wire can say.

A kind is an answer of a service: what it says, how it stops, or the error it gives. `expected`
is what a caller must read of it on a wire of `/v1`; what a wire has no word for is a row of
`NO_WORD`, with the reason.
"""

from typing import Any, Literal

import msgspec

from tests.system.upstream_stories import MODEL, SEQUENCE, STORIES, Step, Stop, Story

Wire = Literal["chat", "messages", "responses"]
Mode = Literal["whole", "streamed"]
WIRES: tuple[Wire, ...] = ("chat", "messages", "responses")
MODES: tuple[Mode, ...] = ("whole", "streamed")


class ServiceError(msgspec.Struct, frozen=True, kw_only=True):
    """An error of a service; `after` says how much of an answer comes before it."""

    status: int
    code: str | None = None
    param: str | None = None
    after: Literal["nothing", "words"] = "nothing"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of answer; `noise` comes between its first words and the others."""

    story: Story = ()
    stop: Stop = "end"
    error: ServiceError | None = None
    noise: bytes = b""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller read: the answer, or the error; `seals` only its service can read."""

    said: tuple[Step, ...] = ()
    stop: str | None = None
    sequence: str | None = None
    usage: tuple[int, int, int, int] | None = None
    model: str | None = None
    header: str | None = None
    status: int = 200
    code: str | None = None
    param: str | None = None
    seals: tuple[Any, ...] = ()


_REFUSAL: Story = (("refusal", "I cannot help with that."),)
_TEXT: Story = (("text", "Good day"),)

KINDS: dict[str, Kind] = {
    "text": Kind(story=_TEXT),
    **{name: Kind(story=story) for name, story in STORIES.items()},
    "cut": Kind(story=_TEXT, stop="length"),
    "cut thought": Kind(story=(("thought", "Hm."),), stop="length"),
    "filtered": Kind(story=_TEXT, stop="filter"),
    "stop sequence": Kind(story=_TEXT, stop="sequence"),
    "refusal": Kind(story=_REFUSAL),
    "thought and refusal": Kind(story=(("thought", "Hm."), *_REFUSAL)),
    "text and refusal": Kind(story=(*_TEXT, *_REFUSAL)),
    "unsupported value": Kind(
        error=ServiceError(status=400, code="unsupported_value", param="temperature")
    ),
    "policy": Kind(error=ServiceError(status=400, code="content_policy_violation")),
    "unprocessable": Kind(error=ServiceError(status=422, code="invalid_value", param="tools[0]")),
    "wrong key": Kind(error=ServiceError(status=401, code="invalid_api_key")),
    "too many": Kind(error=ServiceError(status=429, code="slow_down")),
    "broken": Kind(error=ServiceError(status=500, code="internal_fault")),
    "broken on the way": Kind(
        story=_TEXT, error=ServiceError(status=500, code="internal_fault", after="words")
    ),
}

# What a wire has no word for: it says `instead`, and `because` is why.
NO_WORD: dict[tuple[str, str], tuple[Any, str]] = {
    ("anthropic", "refusal"): ("filter", "it says by the stop reason alone that it refuses"),
    ("gemini", "refusal"): ("filter", "it says by the finish reason alone that it refuses"),
    ("ollama", "refusal"): ("end", "its models refuse in plain text"),
    ("ollama", "filter"): ("end", "it has no filter"),
    ("responses", "sequence"): ("end", "it has no stop sequences"),
    ("gemini", "sequence"): ("end", "it does not say that a stop sequence ended the answer"),
    ("ollama", "sequence"): ("end", "it does not say that a stop sequence ended the answer"),
    ("ollama", "usage"): ((20, 7, 0, 0), "it counts neither cached nor reasoning tokens"),
    ("anthropic", "code"): (None, "its errors have a type and no code"),
    ("anthropic", "param"): (None, "its errors name no field"),
    ("ollama", "seal"): (None, "it seals nothing"),
    ("openai", "seal"): (None, "a service without a preset is not known to take seals back"),
    ("ollama", "code"): (None, "its errors are a sentence"),
    ("ollama", "param"): (None, "its errors are a sentence"),
}
STOPS: dict[Wire, dict[str, str]] = {
    "chat": {
        "end": "stop",
        "sequence": "stop",  # the wire has one word for both, and no field for the sequence
        "length": "length",
        "filter": "content_filter",
        "refusal": "stop",  # as OpenAI does: the refusal itself says it
        "calls": "tool_calls",
    },
    "messages": {
        "end": "end_turn",
        "sequence": "stop_sequence",
        "length": "max_tokens",
        "filter": "refusal",
        "refusal": "refusal",
        "calls": "tool_use",
    },
    "responses": {
        "end": "completed",
        "sequence": "completed",  # the wire has no stop sequences
        "length": "max_output_tokens",
        "filter": "content_filter",
        "refusal": "completed",  # as OpenAI does: the refusal itself says it
        "calls": "completed",
    },
}
# The codes by which OpenAI's clients decide; Hermes' own where a service's code is not for callers.
_CODES = {401: "provider_rejected", 429: "rate_limit_exceeded"}
_PLAIN = {400: "provider_rejected", 422: "provider_rejected", 500: "provider_unavailable"}
# A wrong key is the operator's matter, not the caller's.
_STATUSES = {400: 400, 422: 422, 429: 429, 401: 502, 500: 502}


def asked_for(kind: Kind, wire: Wire, mode: Mode) -> str:
    """Return the model to ask for: one that fails must not rest while the next kind is tried."""
    return f"asked-{list(KINDS.values()).index(kind)}-{wire}-{mode}"


def expected(kind: Kind, upstream: str, wire: Wire, mode: Mode) -> Heard:
    """Return what a caller must read of an answer."""
    header = f"{upstream}:{asked_for(kind, wire, mode)}"
    if kind.error is None:
        stop = _stop(kind, upstream)
        return Heard(
            said=_said(kind.story, upstream, wire=wire, mode=mode),
            stop=STOPS[wire][stop],
            sequence=SEQUENCE if (wire, stop) == ("messages", "sequence") else None,
            usage=NO_WORD.get((upstream, "usage"), ((20, 7, 4, 2), ""))[0],
            model=MODEL,
            header=header,
        )
    if kind.error.after == "words" and mode == "streamed":
        code = _late_code(upstream, wire)
        return Heard(said=kind.story, model=MODEL, header=header, code=code)
    status = _STATUSES[kind.error.status]
    code, param = _names(kind.error, upstream, wire)
    return Heard(status=status, code=code, param=param)


def _stop(kind: Kind, upstream: str) -> str:
    last = kind.story[-1][0]
    stop = "refusal" if last == "refusal" else kind.stop
    instead, _ = NO_WORD.get((upstream, stop), (stop, ""))
    has_call = any(step == "call" for step, _ in kind.story)
    return "calls" if instead == "end" and has_call else str(instead)


def _said(story: Story, upstream: str, *, wire: Wire, mode: Mode) -> tuple[Step, ...]:
    """Return the steps that can be read: neighbours of one kind are one."""
    joined: list[Step] = []
    for kind, words in story:
        step = "text" if kind == "refusal" and not _refuses(upstream, wire) else kind
        if not words:
            continue  # a seal has no words
        if joined and joined[-1][0] == step and step != "call":
            joined[-1] = (step, joined[-1][1] + words)
        else:
            joined.append((step, words))
    if wire == "chat" and mode == "whole":
        # One field for each kind: the order between kinds has no place in a chat completion.
        order = ("thought", "text", "refusal", "call")
        joined = [
            step for name in order for step in _one_field([s for s in joined if s[0] == name])
        ]
    return tuple(joined)


def _one_field(steps: list[Step]) -> list[Step]:
    if len(steps) < 2 or steps[0][0] == "call":
        return steps
    return [(steps[0][0], "".join(words for _, words in steps))]


def _refuses(upstream: str, wire: Wire) -> bool:
    """Return whether a refusal arrives as one: both wires have a field for it."""
    return (upstream, "refusal") not in NO_WORD and wire != "messages"


def _names(error: ServiceError, upstream: str, wire: Wire) -> tuple[str | None, str | None]:
    if wire == "messages":
        return None, None  # the wire's errors have a type and no code
    has_names = (upstream, "code") not in NO_WORD
    if error.after == "words" and not has_names:
        return "stream_truncated", None
    code = _CODES.get(error.status) or (error.code if has_names else None)
    param = error.param if has_names and error.status != 401 else None
    return code or _PLAIN[error.status], param


def _late_code(upstream: str, wire: Wire) -> str | None:
    if wire == "messages":
        return None
    if (upstream, "code") not in NO_WORD:
        return "internal_fault"
    return "server_error" if wire == "responses" else "stream_truncated"
