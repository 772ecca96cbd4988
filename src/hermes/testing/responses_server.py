"""A loopback server that implements OpenAI's Responses API strictly and answers by script.

It serves streamed `/v1/responses` calls, returns sealed reasoning if requested, and keeps every
request for tests.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.testing.model_script import (
    Script,
    ScriptedTurn,
    SeenConversation,
    answer_by_text,
    split,
)
from hermes.testing.responses_shape import InputText, Item, ResponsesRequest, ShapeError
from hermes.testing.responses_shape import read_request as read
from hermes.testing.scripted_http import ReceivedRequest, Sleep
from hermes.testing.turn_server import TurnFrames, TurnServer, chunk, whole

_encode = msgspec.json.encode
# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]


def seen_in(request: ResponsesRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [item for item in request.input if item.role == "user"]
    results: list[str] = []
    for item in reversed(request.input):
        if item.type == "function_call_output":
            results.insert(0, item.output or "")
        elif item.role == "user":
            break
    return SeenConversation(len(users), _text_of(users[-1]) if users else "", tuple(results))


def _refused(status: int, text: str) -> bytes:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return whole(status, {"error": {"message": text, "type": kind, "code": None}})


class ResponsesServer(TurnServer):
    """The server; used in a test as `async with ResponsesServer() as server`."""

    base_path = "/v1"
    error = staticmethod(_refused)

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(script, key=key, sleep=sleep)
        self.requests: list[ReceivedRequest] = []

    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its refusal."""
        self.requests.append(call)
        if call.path != "/v1/responses" or call.method != "POST":
            return _refused(404, f"Invalid URL ({call.path})")
        if self.is_refused(call):
            return _refused(401, "Incorrect API key provided.")
        try:
            request = read(call.body)
        except ShapeError as error:
            return _refused(400, str(error))
        turn = self.next_turn(seen_in(request))
        if turn.fault == "status":
            return TurnFrames(turn, _refused(turn.status, f"scripted failure {turn.status}"))
        answer = _Answer(request, turn, number=self.calls)
        return TurnFrames(turn, b"", answer.opening(), answer.pieces(), answer.closing())


class _Answer:
    """One scripted turn as the events of a response."""

    def __init__(self, request: ResponsesRequest, turn: ScriptedTurn, *, number: int) -> None:
        self._request = request
        self._turn = turn
        self._number = number
        self._sequence = 0
        self._output: list[Json] = []

    def opening(self) -> Iterator[bytes]:
        yield self._event("response.created", response=self._response("in_progress"))
        if self._turn.reasoning:
            yield from self._reasoning()
        if self._turn.pieces:
            item = {"type": "message", "id": self._id("msg"), "role": "assistant", "content": []}
            yield self._added({**item, "status": "in_progress"})
            yield self._content("response.content_part.added", part=_part(""))

    def pieces(self) -> Iterator[bytes]:
        turn = self._turn
        for piece in turn.pieces if turn.fault is None else turn.pieces[: turn.after]:
            tokens = self._tokens(piece)
            yield self._content("response.output_text.delta", delta=piece, logprobs=tokens)

    def closing(self) -> Iterator[bytes]:
        if self._turn.pieces:
            text = self._turn.text
            yield self._content("response.output_text.done", text=text, logprobs=[])
            yield self._content("response.content_part.done", part=_part(text))
            yield self._done(
                {
                    "type": "message",
                    "id": self._id("msg"),
                    "role": "assistant",
                    "status": "completed",
                    "content": [_part(text)],
                }
            )
        for number, tool in enumerate(self._turn.tools):
            yield from self._call(number, tool.name, arguments=tool.arguments)
        yield self._event("response.completed", response=self._response("completed"))

    def _tokens(self, piece: str) -> list[Json]:
        """Return a piece of the text as one token, if log probabilities were asked for."""
        count = self._request.top_logprobs
        if count is None:
            return []
        top = [{"token": f"{piece}{n}", "logprob": -0.5 - n} for n in range(count)]
        return [{"token": piece, "logprob": -0.5, "top_logprobs": top}]

    def _content(self, kind: str, **fields: Any) -> bytes:
        place = {"output_index": len(self._output), "content_index": 0}
        return self._event(kind, item_id=self._id("msg"), **place, **fields)

    def _reasoning(self) -> Iterator[bytes]:
        item: Json = {"type": "reasoning", "id": self._id("rs"), "summary": []}
        place = {"item_id": item["id"], "output_index": 0, "summary_index": 0}
        text = {"type": "summary_text", "text": self._turn.reasoning}
        yield self._added(item)
        yield self._event(
            "response.reasoning_summary_part.added", part={**text, "text": ""}, **place
        )
        yield self._event(
            "response.reasoning_summary_text.delta", delta=self._turn.reasoning, **place
        )
        sealed = {"encrypted_content": "c2VhbGVk"} if self._request.include else {}
        yield self._done({**item, "summary": [text], **sealed})

    def _call(self, number: int, name: str, *, arguments: str) -> Iterator[bytes]:
        item = {
            "type": "function_call",
            "id": f"{self._id('fc')}_{number}",
            "call_id": f"{self._id('call')}_{number}",
            "name": name,
            "arguments": "",
            "status": "in_progress",
        }
        index = len(self._output)
        yield self._added(item)
        for piece in split(arguments, 3):
            yield self._event(
                "response.function_call_arguments.delta",
                item_id=item["id"],
                output_index=index,
                delta=piece,
            )
        yield self._event(
            "response.function_call_arguments.done",
            item_id=item["id"],
            output_index=index,
            name=name,
            arguments=arguments,
        )
        yield self._done({**item, "arguments": arguments, "status": "completed"})

    def _added(self, item: Json) -> bytes:
        return self._event("response.output_item.added", output_index=len(self._output), item=item)

    def _done(self, item: Json) -> bytes:
        self._output.append(item)
        return self._event(
            "response.output_item.done", output_index=len(self._output) - 1, item=item
        )

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._sequence += 1
        told = {"type": kind, "sequence_number": self._sequence, **fields}
        return chunk(b"event: %s\ndata: %s\n\n" % (kind.encode(), _encode(told)))

    def _response(self, status: str) -> Json:
        return {
            "id": self._id("resp"),
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "model": self._request.model,
            "output": list(self._output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": self._usage() if status == "completed" else None,
        }

    def _usage(self) -> Json:
        turn = self._turn
        words = sum(_text_of(item).count(" ") + 1 for item in self._request.input)
        read_, wrote = turn.tokens_in or words, turn.tokens_out or max(1, len(turn.pieces))
        return {
            "input_tokens": read_,
            "input_tokens_details": {"cached_tokens": turn.cached_in},
            "output_tokens": wrote,
            "output_tokens_details": {"reasoning_tokens": turn.reasoning_out},
            "total_tokens": read_ + wrote,
        }

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._number}"


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text_of(item: Item) -> str:
    if item.content is None or isinstance(item.content, str):
        return item.content or ""
    return "".join(part.text for part in item.content if isinstance(part, InputText))
