"""Reads answers of every wire of `/v1` into one form, so that they can be compared."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tests.system.upstream_stories import Step
from tests.system.wire_kinds import Heard, Mode, Wire

# Any: JSON of every shape.
Json = dict[str, Any]
PATHS: dict[Wire, str] = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}


def body_for(wire: Wire, mode: Mode, *, model: str) -> Json:
    """Return a request that offers every tool of the stories."""
    stream = {"stream": True} if mode == "streamed" else {}
    hello = [{"role": "user", "content": "Hello"}]
    schema = {"type": "object"}
    names = ("red", "blue")
    base: Json = {"model": model, **stream}
    if wire == "messages":
        tools = [{"name": name, "input_schema": schema} for name in names]
        return base | {"max_tokens": 99, "messages": hello, "tools": tools}
    if wire == "responses":
        flat = [{"type": "function", "name": name, "parameters": schema} for name in names]
        return base | {"input": hello, "tools": flat}
    functions = [{"name": name, "parameters": schema} for name in names]
    base["tools"] = [{"type": "function", "function": function} for function in functions]
    if stream:
        base["stream_options"] = {"include_usage": True}
    return base | {"messages": hello}


def heard(wire: Wire, status: int, headers: Mapping[str, str], body: bytes) -> Heard:
    """Return what a caller reads of an answer."""
    if status != 200:
        error = msgspec.json.decode(body)["error"]
        return Heard(status=status, code=error.get("code"), param=error.get("param"))
    named = headers.get("x-hermes-model")
    if headers["content-type"].startswith("application/json"):
        found = _WHOLE[wire](msgspec.json.decode(body))
    else:
        found = _STREAMED[wire](list(_events(body)))
    return msgspec.structs.replace(found, header=named, said=tuple(_joined(found.said)))


def _events(body: bytes) -> Iterator[Json]:
    for line in body.splitlines():
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            yield msgspec.json.decode(line[6:])


def _joined(steps: Iterable[Step]) -> list[Step]:
    """Join neighbours of one kind; calls stay apart, and what has no words is left out."""
    found: list[Step] = []
    for kind, words in steps:
        if found and found[-1][0] == kind != "call" and words:
            found[-1] = (kind, found[-1][1] + words)
        elif words:
            found.append((kind, words))
    return found


def _call(name: str, arguments: object) -> Step:
    found = msgspec.json.decode(arguments) if isinstance(arguments, str) else arguments
    assert found == {"a": 1}
    return ("call", name)


# --- chat


def _chat_whole(answer: Json) -> Heard:
    (choice,) = answer["choices"]
    return Heard(
        said=tuple(_chat_steps(choice["message"])),
        seals=tuple(choice["message"].get("reasoning_details", ())),
        stop=choice["finish_reason"],
        usage=_chat_usage(answer["usage"]),
        model=answer["model"],
    )


def _chat_steps(message: Json) -> Iterator[Step]:
    yield "thought", message.get("reasoning_content") or ""
    yield "text", message.get("content") or ""
    yield "refusal", message.get("refusal") or ""
    for call in message.get("tool_calls", ()):
        yield _call(call["function"]["name"], call["function"]["arguments"])


def _chat_usage(usage: Json) -> tuple[int, int, int, int]:
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    reasoned = usage["completion_tokens_details"]["reasoning_tokens"]
    return usage["prompt_tokens"], usage["completion_tokens"], cached, reasoned


def _chat_streamed(events: list[Json]) -> Heard:
    steps: list[Step] = []
    arguments: dict[int, list[str]] = {}
    found = Heard(model=events[0]["model"])
    for event in events:
        if "error" in event:
            error = event["error"]
            return msgspec.structs.replace(
                found, said=tuple(steps), code=error["code"], param=error["param"]
            )
        assert event["model"] == found.model
        if event.get("usage"):
            found = msgspec.structs.replace(found, usage=_chat_usage(event["usage"]))
        for choice in event["choices"]:
            steps += _chat_delta(choice["delta"], arguments)
            seals = found.seals + tuple(choice["delta"].get("reasoning_details", ()))
            found = msgspec.structs.replace(found, seals=seals)
            if choice["finish_reason"]:
                found = msgspec.structs.replace(found, stop=choice["finish_reason"])
    assert {"".join(pieces) for pieces in arguments.values()} <= {'{"a":1}'}
    return msgspec.structs.replace(found, said=tuple(steps))


def _chat_delta(delta: Json, arguments: dict[int, list[str]]) -> Iterator[Step]:
    for call in delta.get("tool_calls", ()):
        arguments.setdefault(call["index"], []).append(call["function"].get("arguments", ""))
        if name := call["function"].get("name"):
            yield "call", name
    yield from _chat_steps(delta | {"tool_calls": ()})


# --- messages


def _messages_whole(answer: Json) -> Heard:
    return Heard(
        said=tuple(_block_step(block) for block in answer["content"]),
        seals=_seals_of(answer["content"]),
        stop=answer["stop_reason"],
        sequence=answer["stop_sequence"],
        usage=_messages_usage(answer["usage"]),
        model=answer["model"],
    )


def _block_step(block: Json) -> Step:
    if block["type"] == "tool_use":
        return _call(block["name"], block["input"])
    if block["type"] == "text":
        return "text", block["text"]
    return "thought", block.get("thinking", "")


def _seals_of(blocks: list[Json]) -> tuple[str, ...]:
    found = (block.get("signature") or block.get("data") for block in blocks)
    return tuple(seal for seal in found if seal)


def _messages_usage(usage: Json) -> tuple[int, int, int, int]:
    cached = usage["cache_read_input_tokens"]
    reasoned = usage.get("output_tokens_details", {}).get("thinking_tokens", 0)
    return usage["input_tokens"] + cached, usage["output_tokens"], cached, reasoned


def _messages_streamed(events: list[Json]) -> Heard:
    blocks: list[Json] = []
    found = Heard(model=events[0]["message"]["model"])
    for event in events:
        kind = event["type"]
        if kind == "error":
            break
        if kind == "content_block_start":
            blocks.append({**event["content_block"], "json": ""})
        elif kind == "content_block_delta":
            _grow(blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            found = msgspec.structs.replace(
                found,
                stop=event["delta"]["stop_reason"],
                sequence=event["delta"]["stop_sequence"],
                usage=_messages_usage(event["usage"]),
            )
    said = tuple(_block_step(_closed(block)) for block in blocks)
    return msgspec.structs.replace(found, said=said, seals=_seals_of(blocks))


def _grow(block: Json, delta: Json) -> None:
    field = delta["type"].removesuffix("_delta")
    if field == "input_json":
        block["json"] += delta["partial_json"]
    else:
        block[field] += delta[field]


def _closed(block: Json) -> Json:
    if block["type"] != "tool_use":
        return block
    return {**block, "input": msgspec.json.decode(block["json"])}


# --- responses


def _responses_whole(answer: Json) -> Heard:
    details = answer["incomplete_details"]
    return Heard(
        said=tuple(step for item in answer["output"] for step in _item_steps(item)),
        seals=tuple(seal for item in answer["output"] if (seal := item.get("encrypted_content"))),
        stop=answer["status"] if details is None else details["reason"],
        usage=_responses_usage(answer["usage"]),
        model=answer["model"],
    )


def _item_steps(item: Json) -> Iterator[Step]:
    if item["type"] == "function_call":
        yield _call(item["name"], item["arguments"])
    # The pieces of a summary are paragraphs.
    yield "thought", "\n\n".join(piece["text"] for piece in item.get("summary", ()))
    for piece in item.get("content", ()):
        yield ("refusal", piece["refusal"]) if "refusal" in piece else ("text", piece["text"])


def _responses_usage(usage: Json) -> tuple[int, int, int, int]:
    cached = usage["input_tokens_details"]["cached_tokens"]
    reasoned = usage["output_tokens_details"]["reasoning_tokens"]
    return usage["input_tokens"], usage["output_tokens"], cached, reasoned


_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "thought",
}


def _responses_streamed(events: list[Json]) -> Heard:
    last = events[-1]
    if last["type"] == "response.failed":
        found = Heard(model=last["response"]["model"], code=last["response"]["error"]["code"])
    else:
        found = _responses_whole(last["response"])
    steps: list[Step] = []
    for event in events:
        if event["type"] in _DELTAS:
            # Any: a name out of the table above.
            name: Any = _DELTAS[event["type"]]
            steps.append((name, event["delta"]))
        elif event["type"] == "response.output_item.added" and "call_id" in event["item"]:
            steps.append(("call", event["item"]["name"]))
    assert events[0]["response"]["model"] == found.model
    return msgspec.structs.replace(found, said=tuple(steps))


_WHOLE = {"chat": _chat_whole, "messages": _messages_whole, "responses": _responses_whole}
_STREAMED = {
    "chat": _chat_streamed,
    "messages": _messages_streamed,
    "responses": _responses_streamed,
}
