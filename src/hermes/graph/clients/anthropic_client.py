"""Records the messages of Anthropic's official client.

`messages.create` is recorded; what would make an answer that cannot be recorded is refused, and
everything else of the client works as before.
"""

from typing import Any

import msgspec

from hermes.errors import BadRequest
from hermes.graph.blob import Message
from hermes.graph.clients.sdk_call import ReadAnswer, SdkCall, chosen, plain, without_secrets
from hermes.graph.message_graph import MessageGraph
from hermes.graph.open_call import OpenCall

_SAMPLING = frozenset({
    "max_tokens", "output_config", "stop_sequences", "temperature", "thinking", "tool_choice",
    "top_k", "top_p",
})  # fmt: skip
_STOPS = {
    "end_turn": "end", "max_tokens": "length", "stop_sequence": "end", "tool_use": "tool_calls"
}  # fmt: skip
_UNRECORDED = frozenset({"beta", "completions", "with_raw_response", "with_streaming_response"})
_UNRECORDED_MESSAGES = frozenset({"stream", "parse", "batches", *_UNRECORDED})
_SYSTEM = frozenset({"system", "developer"})
# The field of a delta, by its type, and the field of the block that it continues.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class RecordedAnthropic:
    """An `Anthropic` or `AsyncAnthropic` client that records into a graph.

    `messages` of a request may be left out: then the messages of the graph are sent, those of the
    system at its beginning as `system`. A list is written into the graph first, after these.
    """

    def __init__(self, client: Any, graph: MessageGraph) -> None:  # Any: the SDK's client
        self._client = client
        self._graph = graph

    @property
    def messages(self) -> "_Messages":
        """The messages."""
        return _Messages(self._client, self._graph)

    def with_options(self, **options: Any) -> "RecordedAnthropic":
        """Return the client with other options, recording into the same graph."""
        return RecordedAnthropic(self._client.with_options(**options), self._graph)

    def __getattr__(self, name: str) -> Any:
        if name in _UNRECORDED:
            raise _unrecorded(name)
        return getattr(self._client, name)


class _Messages:
    def __init__(self, client: Any, graph: MessageGraph) -> None:
        self._client = client
        self._graph = graph

    def create(
        self,
        *,
        model: str,
        max_tokens: int,
        messages: Any = None,
        system: Any = None,
        **options: Any,
    ) -> Any:
        """Make a message and record it."""
        graph, above = self._graph, _count_system(self._graph)
        if messages is not None and messages is not graph:
            graph[above:] = _as_kept(graph, above, [plain(message) for message in messages])
        told = plain(system)
        lead = [] if not told else [{"role": "system", "content": told}]
        if lead and above:
            raise BadRequest(
                "The graph begins with a system message, and the request has one in system=. Use one "
                "of the two."
            )
        options = options | {"max_tokens": max_tokens}
        tools = plain(options.get("tools"))
        call = graph.call(
            model=model,
            tools=list(map(_function, tools)) if isinstance(tools, list) else None,
            sampling=chosen(options, _SAMPLING),
            lead=lead,
        )
        recorded = SdkCall(
            call=call,
            read=_read,
            reader=_Stream(),
            more=_no_others,
            is_streamed=options.get("stream") is True,
        )
        sent = {"model": model, "messages": call.messages[above + len(lead) :], **options}
        if lead or above:
            sent["system"] = told if lead else _joined(call.messages[:above])
        return recorded.run(self._client.messages.create, sent)

    def __getattr__(self, name: str) -> Any:
        if name in _UNRECORDED_MESSAGES:
            raise _unrecorded(f"messages.{name}")
        return getattr(self._client.messages, name)


def _unrecorded(name: str) -> BadRequest:
    return BadRequest(
        f"{name} of the client is not recorded. Use messages.create(), with stream=True for a stream, "
        "or call it on the client that you wrapped."
    )


def _no_others(_call: OpenCall, _others: list[Message]) -> None:
    """Do nothing: a request has one answer."""


def _count_system(graph: MessageGraph) -> int:
    count = 0
    while count < len(graph) and graph[count]["role"] in _SYSTEM:
        count += 1
    return count


def _joined(messages: list[Message]) -> Any:
    """Return system messages as one `system`: a text, or all their blocks."""
    if len(messages) == 1:
        return messages[0]["content"]
    return [block for message in messages for block in _blocks(message["content"])]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _as_kept(graph: MessageGraph, above: int, messages: list[Message]) -> list[Message]:
    """Return messages, those as the graph has them that only write one block as a text."""
    kept = graph.to_list()[above : above + len(messages)]
    kept += [{}] * (len(messages) - len(kept))
    return [
        old if old and _reads_alike(old, new) else new
        for old, new in zip(kept, messages, strict=True)
    ]


def _reads_alike(old: Message, new: Message) -> bool:
    if old.keys() != new.keys() or old["role"] != new.get("role"):
        return False
    return _blocks(old.get("content")) == _blocks(new.get("content"))


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool in the format of training data; a tool of the service stays one, without its keys."""
    if "input_schema" not in tool:
        kept: dict[str, Any] = without_secrets(tool)
        return kept
    told = {key: tool[key] for key in ("name", "description") if key in tool}
    return {"type": "function", "function": {**told, "parameters": tool["input_schema"]}}


def _read(response: dict[str, Any]) -> ReadAnswer:
    reason = str(response.get("stop_reason") or "")
    return ReadAnswer(
        message={"role": "assistant", "content": response.get("content") or []},
        model=str(response.get("model") or ""),
        usage=_usage(response.get("usage") or {}),
        stop_reason=_STOPS.get(reason, reason),
    )


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    told = {
        "tokens_in": (usage.get("input_tokens") or 0) + cached + written,
        "tokens_out": usage.get("output_tokens"),
        "cached_in": cached,
    }
    return {name: value for name, value in told.items() if value}


class _Stream:
    """Puts the events of a streamed message together."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self.is_whole = False

    def take(self, event: dict[str, Any]) -> None:
        """Take one event."""
        kind, index = event.get("type"), event.get("index", 0)
        if kind == "message_start":
            self._message = dict(event.get("message") or {})
        elif kind == "content_block_start":
            self._blocks[index] = dict(event.get("content_block") or {})
        elif kind == "content_block_delta" and index in self._blocks:
            self._continue(index, event.get("delta") or {})
        elif kind == "message_delta":
            told = {**(self._message.get("usage") or {}), **(event.get("usage") or {})}
            self._message |= (event.get("delta") or {}) | {"usage": told}
        elif kind == "message_stop":
            self.is_whole = True

    def _continue(self, index: int, delta: dict[str, Any]) -> None:
        block, kind = self._blocks[index], str(delta.get("type"))
        if kind in _DELTAS:
            source, target = _DELTAS[kind]
            block[target] = str(block.get(target) or "") + str(delta.get(source) or "")
        elif kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + str(delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]

    def answer(self) -> ReadAnswer | None:
        """Return what arrived so far."""
        if not self._message:
            return None
        blocks = [self._block(index) for index in sorted(self._blocks)]
        return _read(self._message | {"content": blocks})

    def _block(self, index: int) -> dict[str, Any]:
        block, text = self._blocks[index], self._inputs.get(index)
        if not text:
            return block
        try:
            return block | {"input": msgspec.json.decode(text)}
        except msgspec.DecodeError:
            # The stream broke off inside the arguments.
            return block | {"input": {}}
