"""Answers as OpenAI streams them, byte for byte: the same bytes go to the SDK and to Hermes."""

from typing import Any

import msgspec

Json = dict[str, Any]
USAGE: Json = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 4},
}


def frame(payload: Json) -> bytes:
    return b"data: " + msgspec.json.encode(payload) + b"\n\n"


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return frame({**_around(), "choices": [choice], "usage": None})


def call(index: int, arguments: str, **head: str) -> Json:
    function = {"arguments": arguments} | ({"name": head["name"]} if head else {})
    told: Json = {"index": index, "function": function}
    return {**told, "id": head["id"], "type": "function"} if head else told


def chat(*chunks: bytes, usage: bool = True) -> bytes:
    last = frame({**_around(), "choices": [], "usage": USAGE}) if usage else b""
    first = chunk(role="assistant", content="", refusal=None)
    return b"".join((first, *chunks, last, b"data: [DONE]\n\n"))


def _around() -> Json:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "gpt-4o-mini-2024-07-18",
        "system_fingerprint": "fp",
    }


CHAT_STREAMS = {
    "text": chat(chunk(content="Hé"), chunk(content="llo 🜁"), chunk("stop")),
    "nothing": chat(chunk("stop")),
    "length": chat(chunk(content="Hel"), chunk("length")),
    "filtered": chat(chunk(content="Hel"), chunk("content_filter")),
    "refusal": chat(chunk(refusal="I "), chunk(refusal="cannot."), chunk("stop")),
    "a call": chat(
        chunk(tool_calls=[call(0, "", id="c0", name="clock")]),
        chunk(tool_calls=[call(0, '{"zone"')]),
        chunk(tool_calls=[call(0, ':"Ö"}')]),
        chunk("tool_calls"),
    ),
    "words and parallel calls": chat(
        chunk(content="One moment."),
        chunk(tool_calls=[call(0, "", id="c0", name="clock")]),
        chunk(tool_calls=[call(0, '{"zone":1}')]),
        chunk(tool_calls=[call(1, "", id="c1", name="sum")]),
        chunk(tool_calls=[call(1, "{}")]),
        chunk("tool_calls"),
    ),
    "comments and line ends": chat(chunk(content="a"), b": ping\r\n\r\n", chunk("stop")).replace(
        b"\n\n", b"\r\n\r\n"
    ),
}


class ResponseStream:
    """The events of one response, numbered; `output` grows with each finished item."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self.output: list[Json] = []
        self.event("response.created", response=self._response("in_progress"))

    def event(self, kind: str, **fields: Any) -> None:
        told = {"type": kind, "sequence_number": len(self._events), **fields}
        self._events.append(b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(told)))

    def reason(self, sealed: str, *texts: str) -> "ResponseStream":
        item: Json = {"type": "reasoning", "id": f"rs_{len(self.output)}", "summary": []}
        place: Json = {"item_id": item["id"], "output_index": len(self.output)}
        self._added({**item, "encrypted_content": ""})
        parts = [{"type": "summary_text", "text": text} for text in texts]
        for index, part in enumerate(parts):
            at = {**place, "summary_index": index}
            self.event("response.reasoning_summary_part.added", part={**part, "text": ""}, **at)
            self.event("response.reasoning_summary_text.delta", delta=part["text"], **at)
            self.event("response.reasoning_summary_text.done", text=part["text"], **at)
            self.event("response.reasoning_summary_part.done", part=part, **at)
        self._done({**item, "summary": parts, "encrypted_content": sealed})
        return self

    def say(self, *pieces: str, status: str = "completed") -> "ResponseStream":
        item: Json = {"type": "message", "id": f"msg_{len(self.output)}", "role": "assistant"}
        at: Json = {"item_id": item["id"], "output_index": len(self.output), "content_index": 0}
        part: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        whole = {**part, "text": "".join(pieces)}
        self._added({**item, "status": "in_progress", "content": []})
        self.event("response.content_part.added", part=part, **at)
        for piece in pieces:
            self.event("response.output_text.delta", delta=piece, logprobs=[], **at)
        self.event("response.output_text.done", text=whole["text"], logprobs=[], **at)
        self.event("response.content_part.done", part=whole, **at)
        self._done({**item, "status": status, "content": [whole]})
        return self

    def refuse(self, *pieces: str) -> "ResponseStream":
        item: Json = {"type": "message", "id": f"msg_{len(self.output)}", "role": "assistant"}
        at: Json = {"item_id": item["id"], "output_index": len(self.output), "content_index": 0}
        whole = {"type": "refusal", "refusal": "".join(pieces)}
        self._added({**item, "status": "in_progress", "content": []})
        self.event("response.content_part.added", part={**whole, "refusal": ""}, **at)
        for piece in pieces:
            self.event("response.refusal.delta", delta=piece, **at)
        self.event("response.refusal.done", refusal=whole["refusal"], **at)
        self.event("response.content_part.done", part=whole, **at)
        self._done({**item, "status": "completed", "content": [whole]})
        return self

    def call(self, name: str, *pieces: str) -> "ResponseStream":
        number = len(self.output)
        item: Json = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": name,
        }
        at: Json = {"item_id": item["id"], "output_index": number}
        self._added({**item, "arguments": "", "status": "in_progress"})
        for piece in pieces:
            self.event("response.function_call_arguments.delta", delta=piece, **at)
        whole = "".join(pieces)
        self.event("response.function_call_arguments.done", arguments=whole, name=name, **at)
        self._done({**item, "arguments": whole, "status": "completed"})
        return self

    def end(self, kind: str = "completed", **fields: Any) -> bytes:
        self.event(f"response.{kind}", response={**self._response(kind), **fields})
        return b"".join(self._events)

    def _added(self, item: Json) -> None:
        self.event("response.output_item.added", output_index=len(self.output), item=item)

    def _done(self, item: Json) -> None:
        self.event("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)

    def _response(self, status: str) -> Json:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "model": "gpt-5-mini-2025-08-07",
            "output": list(self.output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 20,
                "input_tokens_details": {"cached_tokens": 8},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 4},
                "total_tokens": 29,
            },
        }


RESPONSE_STREAMS = {
    "text": ResponseStream().say("Hé", "llo 🜁").end(),
    "sealed reasoning": ResponseStream().reason("s1==", "One.", "Two.").say("Yes.").end(),
    "reasoning without a summary": ResponseStream().reason("s1==").say("Yes.").end(),
    "refusal": ResponseStream().refuse("I ", "cannot.").end(),
    "a call": ResponseStream().reason("s==").call("clock", '{"zone"', ':"Ö"}').end(),
    "words and parallel calls": ResponseStream()
    .say("One moment.")
    .call("clock", '{"zone":1}')
    .call("sum", "{}")
    .end(),
    "length": ResponseStream()
    .say("Hel", status="incomplete")
    .end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "filtered": ResponseStream()
    .say("Hel", status="incomplete")
    .end("incomplete", incomplete_details={"reason": "content_filter"}),
}
