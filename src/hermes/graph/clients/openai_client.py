"""Records the chat completions of OpenAI's official client.

`chat.completions.create` is recorded; what would make an answer that cannot be recorded is refused,
and everything else of the client works as before.
"""

from collections import defaultdict
from typing import Any

from hermes.errors import BadRequest
from hermes.graph.blob import Message
from hermes.graph.clients.sdk_call import ReadAnswer, SdkCall, chosen, plain, without_secrets
from hermes.graph.message_graph import MessageGraph
from hermes.graph.open_call import OpenCall

_SAMPLING = frozenset({
    "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "n",
    "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed", "stop",
    "temperature", "tool_choice", "top_logprobs", "top_p", "verbosity",
})  # fmt: skip
_STOPS = {"stop": "end", "content_filter": "refusal"}
_UNRECORDED = frozenset({"responses", "completions", "beta", "realtime", "with_raw_response",
                         "with_streaming_response"})  # fmt: skip
# Parts of a message that are streamed piece by piece as text.
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class RecordedOpenAI:
    """An `OpenAI` or `AsyncOpenAI` client that records into a graph.

    `messages` of a request may be left out: then the messages of the graph are sent. A list is
    written into the graph first, where unchanged messages stay as they are.
    """

    def __init__(self, client: Any, graph: MessageGraph) -> None:  # Any: the SDK's client
        self._client = client
        self._graph = graph

    @property
    def chat(self) -> "_Chat":
        """The chat completions."""
        return _Chat(self._client, self._graph)

    def with_options(self, **options: Any) -> "RecordedOpenAI":
        """Return the client with other options, recording into the same graph."""
        return RecordedOpenAI(self._client.with_options(**options), self._graph)

    def __getattr__(self, name: str) -> Any:
        if name in _UNRECORDED:
            raise _unrecorded(name)
        return getattr(self._client, name)


class _Chat:
    def __init__(self, client: Any, graph: MessageGraph) -> None:
        self.completions = _Completions(client, graph)


class _Completions:
    def __init__(self, client: Any, graph: MessageGraph) -> None:
        self._client = client
        self._graph = graph

    def create(self, *, model: str, messages: Any = None, **options: Any) -> Any:
        """Make a chat completion and record it."""
        graph = self._graph
        if messages is not None and messages is not graph:
            graph[:] = [_kept(plain(message)) for message in messages]
        tools = plain(options.get("tools"))
        call = graph.call(
            model=model,
            tools=list(map(without_secrets, tools)) if isinstance(tools, list) else None,
            sampling=chosen(options, _SAMPLING),
        )
        recorded = SdkCall(
            call=call,
            read=_read,
            reader=_Stream(),
            more=self._record_others,
            is_streamed=options.get("stream") is True,
        )
        sent = {"model": model, "messages": call.messages, **options}
        return recorded.run(self._client.chat.completions.create, sent)

    def __getattr__(self, name: str) -> Any:
        raise _unrecorded(f"chat.completions.{name}")

    def _record_others(self, call: OpenCall, others: list[Message]) -> None:
        """Record further choices of a request: answers that are not part of the conversation."""
        for message in others:
            self._graph.record_call(
                message,
                model=call.model,
                context=call.context,
                sampling=call.sampling,
                append=False,
            )


def _unrecorded(name: str) -> BadRequest:
    return BadRequest(
        f"{name} of the client is not recorded. Use chat.completions.create(), with stream=True for a "
        "stream, or call it on the client that you wrapped."
    )


def _kept(message: Message) -> Message:
    """Return a message as it is recorded: what the SDK adds to answers without content is left out."""
    return {
        key: value
        for key, value in message.items()
        if value is not None and not (key == "annotations" and not value)
    }


def _read(response: dict[str, Any]) -> ReadAnswer:
    choices = response.get("choices") or [{}]
    first = choices[0]
    reason = str(first.get("finish_reason") or "")
    return ReadAnswer(
        message=_kept(first.get("message") or {"role": "assistant"}),
        model=str(response.get("model") or ""),
        usage=_usage(response.get("usage") or {}),
        stop_reason=_STOPS.get(reason, reason),
        logprobs=_logprobs((first.get("logprobs") or {}).get("content")),
        others=[_kept(choice["message"]) for choice in choices[1:]],
    )


def _logprobs(tokens: Any) -> list[float] | None:
    return [float(token["logprob"]) for token in tokens] if tokens else None


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    told = {
        "tokens_in": usage.get("prompt_tokens"),
        "tokens_out": usage.get("completion_tokens"),
        "cached_in": (usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        "reasoning_out": (usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
    }
    return {name: value for name, value in told.items() if value}


class _Choice:
    """One answer of a stream, as far as it arrived."""

    def __init__(self) -> None:
        self.texts: defaultdict[str, list[str]] = defaultdict(list)
        self.calls: dict[int, dict[str, Any]] = {}
        self.logprobs: list[Any] = []
        self.reason = ""

    def take(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or {}
        for name in _TEXTS:
            if isinstance(delta.get(name), str):
                self.texts[name].append(delta[name])
        for piece in delta.get("tool_calls") or ():
            self._take_call(piece)
        self.logprobs += (choice.get("logprobs") or {}).get("content") or ()
        self.reason = choice.get("finish_reason") or self.reason

    def _take_call(self, piece: dict[str, Any]) -> None:
        call = self.calls.setdefault(piece.get("index", len(self.calls)), {"function": {}})
        call.update({key: piece[key] for key in ("id", "type") if piece.get(key)})
        told, function = piece.get("function") or {}, call["function"]
        function["name"] = function.get("name", "") + (told.get("name") or "")
        function["arguments"] = function.get("arguments", "") + (told.get("arguments") or "")

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = {"role": "assistant"}
        found |= {name: "".join(pieces) for name, pieces in self.texts.items() if any(pieces)}
        calls = [self.calls[index] for index in sorted(self.calls)]
        if calls:
            return found | {"tool_calls": [{"type": "function", **call} for call in calls]}
        return {"role": "assistant", "content": ""} | found


class _Stream:
    """Puts the chunks of a streamed chat completion together."""

    def __init__(self) -> None:
        self._choices: dict[int, _Choice] = {}
        self._model = ""
        self._usage: dict[str, Any] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every answer said why it ended."""
        return all(choice.reason for choice in self._choices.values())

    def take(self, event: dict[str, Any]) -> None:
        """Take one chunk."""
        self._model = str(event.get("model") or self._model)
        self._usage = event.get("usage") or self._usage
        for choice in event.get("choices") or ():
            self._choices.setdefault(choice.get("index", 0), _Choice()).take(choice)

    def answer(self) -> ReadAnswer | None:
        """Return what arrived so far."""
        if not self._choices:
            return None
        first, *others = [self._choices[index] for index in sorted(self._choices)]
        return ReadAnswer(
            message=first.message(),
            model=self._model,
            usage=_usage(self._usage),
            stop_reason=_STOPS.get(first.reason, first.reason),
            logprobs=_logprobs(first.logprobs),
            others=[other.message() for other in others] if self.is_whole else [],
        )
