"""What one model call of a turn asks for, and what is kept of its answer; pure.

The stage `call_model` makes the call, and a replay makes the same call again.
"""

import msgspec

from hermes.calls.events import FullAnswer
from hermes.calls.sampling import Sampling, with_sampling
from hermes.config import AgentSettings
from hermes.message.chat import ChatMessage, as_read
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.pipeline.exchange import rounds_used
from hermes.pipeline.turn import Turn
from hermes.ports.provider import ModelRequest, OutputSchema
from hermes.ports.steps import Rest, StepFacts

_encode = msgspec.json.Encoder().encode
# What services are told that the schema of an agent describes.
_ANSWER = "answer"


def request_of(turn: Turn, *, tool_rounds: int, most_tokens: int | None = None) -> ModelRequest:
    """Return what the next call of a turn asks for.

    The agent may have fewer or more `tool_rounds`; `most_tokens` are those that a caller's key allows.
    """
    settings = turn.agent.settings
    rounds = tool_rounds if settings.tool_rounds is None else settings.tool_rounds
    messages, plain_chars = _read(turn.context())
    request = ModelRequest(
        model="",
        max_output_tokens=_callers_limit(most_tokens, settings),
        messages=messages,
        system=turn.system,
        tools=turn.tools if rounds_used(turn) < rounds else (),
        reasoning=turn.choices.reasoning,
        schema=_schema(settings),
        cut_history=True,
        # What comes before this message is the same with every call of the session.
        cache_prefix=True,
        plain_chars=plain_chars,
    )
    return with_sampling(request, _sampling(settings))


def facts_of(
    event: FullAnswer,
    request: ModelRequest,
    message: ChatMessage,
    *,
    rest: Rest,
    deployment: str,
) -> StepFacts:
    """Return what the graph has to know about a call."""
    end = event.end
    return StepFacts(
        model=f"{event.candidate.provider}:{end.model}",
        deployment=deployment,
        stop_reason=end.stop_reason,
        rest=rest,
        cached_from=event.cached_from,
        left_out=end.left_out,
        is_verbatim=end.is_verbatim and message.parts == end.parts,
        had_tools=bool(request.tools),
        sampling=event.sampling,
    )


def allowed_parts(parts: tuple[Part, ...], request: ModelRequest) -> tuple[Part, ...]:
    """Drop tool calls that a model made up although it was offered no tools."""
    if request.tools:
        return parts
    return tuple(part for part in parts if not isinstance(part, ToolCallPart))


def _callers_limit(most: int | None, agent: AgentSettings) -> int | None:
    """Return the most that the caller's key allows, unless the agent's own limit is lower."""
    own = agent.max_output_tokens
    return None if most is None or (own is not None and own < most) else most


def _schema(agent: AgentSettings) -> OutputSchema | None:
    """Return the schema that the agent's answers fit, if there is one."""
    if not agent.response_schema:
        return None
    schema = dict(agent.response_schema)
    return OutputSchema(name=_ANSWER, schema=msgspec.Raw(_encode(schema)), strict=False)


def _sampling(agent: AgentSettings) -> Sampling:
    return Sampling(
        max_output_tokens=agent.max_output_tokens,
        temperature=agent.temperature,
        top_p=agent.top_p,
        stop=agent.stop,
        seed=agent.seed,
        reasoning=agent.reasoning,
    )


def _read(context: tuple[ChatMessage, ...]) -> tuple[tuple[ChatMessage, ...], int | None]:
    """Return messages as models are given them, and their characters as `_plain_chars` counts."""
    chars = 0
    for message in context:
        parts = message.parts
        if len(parts) != 1 or type(parts[0]) is not TextPart:
            messages = tuple(map(as_read, context))
            return messages, _plain_chars(messages)
        chars += len(parts[0].text)
    # Nearly always.
    return context, chars


def _plain_chars(messages: tuple[ChatMessage, ...]) -> int | None:
    """Return how many characters messages have that are text and nothing else; None for others."""
    chars = 0
    for message in messages:
        for part in message.parts:
            if type(part) is not TextPart:
                return None
            chars += len(part.text)
    return chars
