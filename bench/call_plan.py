"""Chat completions, streamed or whole; every answer is read to its end and compared in full."""

import msgspec

from bench.answers import ANSWERS
from bench.plan import Plan

_EVENT_END = b"\n\n"
_DATA = b"data:"
_DONE = b"[DONE]"


class _Piece(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    finish_reason: str | None = None
    delta: _Piece | None = None
    message: _Piece | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


_decode = msgspec.json.Decoder(_Completion).decode


class CallPlan(Plan, frozen=True, kw_only=True, tag="calls"):
    """Calls of `model`, as the server names it; `answer` is the one that the upstream gives."""

    model: str
    answer: str
    stream: bool = False

    def request(self, worker: int, sent: int, *, run: str) -> bytes:
        """Return the next call of a worker; no two have the same text."""
        asked = f"What should I wear in Oslo today? [[{self.answer}]] {run}-{worker}-{sent}"
        messages = [
            {"role": "system", "content": "You answer in plain English, in a few sentences."},
            {"role": "user", "content": asked},
        ]
        body = {"model": self.model, "messages": messages, "stream": self.stream}
        return self.post("/v1/chat/completions", body)

    def problem(self, status: int, body: bytes) -> str | None:
        """Return what is wrong with an answer, or None."""
        if status != 200:
            return f"{status} {body[:300]!r}"
        try:
            found = _streamed(body) if self.stream else _whole(body)
        except (msgspec.DecodeError, ValueError) as problem:
            return f"{problem}: {body[:300]!r} ... {body[-300:]!r}"
        expected = ANSWERS[self.answer]
        deltas = expected.deltas if self.stream else 1
        if found != (expected.text, deltas):
            return f"{found[1]} deltas with {found[0][:200]!r}; expected {deltas} with the whole"
        return None


def _whole(body: bytes) -> tuple[str, int]:
    (choice,) = _decode(body).choices
    if choice.message is None or choice.finish_reason != "stop":
        raise ValueError("an answer without a message or an end")
    return choice.message.content or "", 1


def _streamed(body: bytes) -> tuple[str, int]:
    """Return the text of a stream and in how many pieces it came."""
    *events, last, rest = body.split(_EVENT_END)
    if rest or last.removeprefix(_DATA).strip() != _DONE:
        raise ValueError("a stream without its end marker")
    pieces, reason = [], None
    for event in events:
        if not event.startswith(_DATA):
            continue
        for choice in _decode(event[len(_DATA) :]).choices:
            reason = choice.finish_reason or reason
            if choice.delta is not None and choice.delta.content:
                pieces.append(choice.delta.content)
    if reason != "stop":
        raise ValueError(f"a stream that ends for {reason!r}")
    return "".join(pieces), len(pieces)
