"""The provider port: one model call on one candidate; no policy, no retries.

`stream` yields text, reasoning and tool calls in the order in which the service sends them and ends
with exactly one `CallEnd`, whose parts have the same order; a stream that ends without it was
truncated and must raise `StreamTruncated` inside the provider.
"""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol, runtime_checkable

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part, ReasoningPart
from hermes.message.reply import Usage
from hermes.ports.options import Extras, ServiceOptions, TokenLogprob

StopReason = Literal["end", "length", "tool_calls", "refusal"]


class ToolSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model receives about a tool; `parameters` is a JSON schema as raw JSON.

    With `strict` the service should make sure that arguments fit the schema, if it can.
    """

    name: str
    description: str
    parameters: msgspec.Raw
    strict: bool = False


class OutputSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON schema that an answer must fit; `schema` is raw JSON.

    With `is_json_mode` any object will do, and services have an option of their own for that.
    """

    name: str
    schema: msgspec.Raw
    strict: bool = True
    is_json_mode: bool = False


JSON_MODE = OutputSchema(
    name="json_object", schema=msgspec.Raw(b'{"type":"object"}'), strict=False, is_json_mode=True
)


class ToolChoice(msgspec.Struct, frozen=True):
    """Whether tools may, must not or must be used; `name` asks for exactly one of them."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one call sends; `system` are stacked blocks, in order.

    `reasoning` is an effort, or a budget in tokens. With `cache_prefix` the stable prefix (tools,
    system blocks and history) is marked for the service's prompt cache, where it has marks. With
    `cut_history` a provider that cannot hold the request may leave the oldest messages out.
    Without `parallel_tools` the answer holds one tool call at most; a service may not know the wish.
    With `prefill` the last message is the beginning of the answer, which the model continues.
    With `is_capped` nobody who calls asked for `max_output_tokens`: it is the cap that the settings
    put on the model, and an answer may end before it where that reads better.
    `plain_chars` are the characters of the messages, where whoever made the request knows that all
    of them are text and nothing else; who puts other messages in must take it out.
    `extras` are options that few requests have.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    tool_choice: ToolChoice = ToolChoice()
    schema: OutputSchema | None = None
    reasoning: Literal["low", "medium", "high"] | int | None = None
    cache_prefix: bool = False
    cut_history: bool = False
    plain_chars: int | None = None
    prefill: bool = False
    parallel_tools: bool = True
    is_capped: bool = False
    extras: Extras | None = None


class TextDelta(msgspec.Struct, frozen=True, tag="text", repr_omit_defaults=True):
    """More of the visible answer; `starts_part` separates it from the text directly before it.

    `logprobs` are the tokens of `text`, if the request asked for them.
    """

    text: str
    starts_part: bool = False
    logprobs: tuple[TokenLogprob, ...] = ()


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning"):
    """More of the model's reasoning, which is not part of the answer.

    Where thoughts are signed one by one, `signature` comes with the end of each; `sealed` is a
    whole thought that only its service can read. Services with other seals end each thought with
    `whole`: the parts of the answer that it became. The text may be empty beside any of them.
    """

    text: str
    signature: str | None = None
    sealed: str | None = None
    whole: tuple[ReasoningPart, ...] = ()


class ToolCallDelta(msgspec.Struct, frozen=True, tag="tool_call"):
    """More of a tool call: id and name come with its first piece, then its raw arguments."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class CallEnd(msgspec.Struct, frozen=True, tag="end"):
    """The end of a call: the whole message as parts, why it stopped, what it used.

    A provider counts tokens and knows no prices: the cost in its `usage` is always 0. `left_out` is
    how many of the oldest messages it had no room for. `is_verbatim` is false when the model was
    shown something else than the request, or wrote something else than `parts`. `rest_s` is how long
    the service will take no more calls, if it said that its rate limit is used up. `logprobs` are
    the tokens of the text, if the request asked for them and the service reported them.
    """

    parts: tuple[Part, ...]
    stop_reason: StopReason
    usage: Usage
    model: str
    left_out: int = 0
    is_verbatim: bool = True
    rest_s: float = 0.0
    logprobs: tuple[TokenLogprob, ...] = ()


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | CallEnd


Capability = Literal["chat", "summarization", "embeddings", "vision", "tools", "schema"]


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider can do, as data; `local` ones never leave this machine.

    One without `chat` has no words: it makes embeddings and is never asked to answer.
    One that does not `forces_tools` cannot be made to use one. One that is not `probed` tells its availability without asking anybody.
    A `tools`, `vision` or `schema` of False means that the service has no native way for it. Thoughts
    of its own `dialect` go back to the service as they came; those of others are not shown to it.
    The end of one that is `watched` is seen at once: while it is silent, it works.
    `prefill_models` are patterns of the models that continue an assistant message that comes last.
    `options` are the options beside the usual ones that its models have.
    """

    name: str
    model: str
    chat: bool = True
    tools: bool
    vision: bool
    schema: bool = False
    embeddings: bool = False
    context_tokens: int
    demonstration: bool = False
    local: bool = False
    probed: bool = True
    forces_tools: bool = True
    dialect: str = ""
    watched: bool = False
    prefill_models: tuple[str, ...] = ()
    options: ServiceOptions = ServiceOptions()


class Embedding(msgspec.Struct, frozen=True):
    """The vectors of some texts, in their order, and what they took."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage
    model: str


@runtime_checkable
class Embedder(Protocol):
    """A provider that can embed, too."""

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text."""
        ...


EmbedInput = str | tuple[int, ...]
"""A text, or the numbers of its tokens, which only the model that made them understands."""


@runtime_checkable
class FlexibleEmbedder(Protocol):
    """An embedder whose options are in the table: vectors of a chosen length, or token numbers."""

    async def embed_with(
        self, inputs: tuple[EmbedInput, ...], *, model: str, dimensions: int | None
    ) -> Embedding:
        """Return one vector for each input, of `dimensions` numbers if that is not None."""
        ...


@runtime_checkable
class SharedEmbedder(Protocol):
    """An embedder in this process: its time is dealt over those who ask."""

    async def embed_for(self, asker: str, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text; `asker` names who shares with the others."""
        ...


class Provider(Protocol):
    """One configured model service."""

    @property
    def info(self) -> ProviderInfo:
        """What this provider can do."""
        ...

    async def available(self) -> bool:
        """Return whether a call may be tried now; asked at call time, bounded in time."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator cancels it."""
        ...

    async def close(self) -> None:
        """Release what the provider holds."""
        ...
