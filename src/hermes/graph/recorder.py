"""Records a model call: checks its facts and assigns its id.

The context is pinned by its root; what was really sent can be checked against it.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hermes.errors import BadRequest, Conflict, StoreError
from hermes.graph.arguments import check_mapping, check_text, checked_tools, list_of
from hermes.graph.blob import Blob, canonical_value, detached, freeze
from hermes.graph.context import Context
from hermes.graph.hasher import Hasher
from hermes.graph.history import History
from hermes.graph.records import Call, Link
from hermes.graph.sequence import Sequence
from hermes.graph.tool_groups import calls_in


class CallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a call besides its context and its answer."""

    model: str
    # Any: JSON as the caller passed it.
    tools: Iterable[Any] | None = None
    sampling: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    token_ids: Iterable[int] | None = None
    logprobs: Iterable[float] | None = None
    sampled: bool = True
    call_id: str | None = None


def record_call(
    history: History, context: Context, facts: CallFacts, *, response: Blob | None
) -> Call:
    """Record one call; nothing is stored if a fact is wrong."""
    hasher = history.family.reader.hasher
    _check_facts(facts)
    listed = checked_tools(facts.tools)
    tools = canonical_value(listed) if listed is not None else None
    told = detached([dict(one or {}) for one in (facts.sampling, facts.usage, facts.metadata)])
    call = Call(
        id=facts.call_id or "",
        graph=history.family.name,
        branch=history.branch,
        version=context.version,
        context=context.root,
        length=len(context),
        shared=context.shared,
        lead=context.lead,
        start=context.start,
        model=facts.model,
        response=response.id if response else None,
        tools=hasher.tools(tools) if tools is not None else None,
        sampling=told[0],
        usage=told[1],
        metadata=told[2],
        token_ids=_integers(facts.token_ids),
        logprobs=_finite(facts.logprobs),
        sampled=bool(facts.sampled),
        at=history.family.time(),
    )
    call = _named(call, history, hasher)
    if call.tools and tools is not None:
        _keep(history, call.tools, tools)
    if response and response.data is not None:
        _keep(history, response.id, response.data)
    history.record(call, context.sequence)
    return call


def _keep(history: History, name: bytes, data: bytes) -> None:
    history.new_blobs[name] = history.family.unsaved_blobs[name] = data


def _check_facts(facts: CallFacts) -> None:
    check_text(facts.model, "The model of a call")
    if facts.call_id is not None:
        check_text(facts.call_id, "The id of a call")
    check_mapping(facts.sampling, "The sampling of a call")
    check_mapping(facts.usage, "The usage of a call")
    check_mapping(facts.metadata, "The metadata of a call")


def check_sent(context: Context, sent: Iterable[Mapping[str, Any]]) -> None:
    """Refuse to record that a model saw `context` if something else was sent."""
    reader = context.sequence.reader
    found = Sequence.of((freeze(message, reader.hasher) for message in sent), reader)
    if found.root != context.root:
        index = found.common_prefix(context.sequence)
        raise Conflict(
            f"What was sent differs from the graph from message {index} on "
            f"({len(found)} sent, {len(context)} held). The call was not recorded. Send "
            "context().to_list(), or write the change into the graph first."
        )


def make_link(
    history: History,
    tool_call_id: str,
    *,
    call: Call,
    child: str | None,
    metadata: Mapping[str, Any] | None,
) -> Link:
    """Record that another graph answered a tool call, with facts about the result."""
    check_mapping(metadata, "The metadata of a link")
    answer = read_kept(history, call.response)
    made = calls_in(answer) if answer else []
    if tool_call_id not in made:
        raise BadRequest(
            f"Call {call.id} made the tool calls {made}, but {tool_call_id!r} is not one of them. "
            "Link to the call whose answer asked for the tool."
        )
    link = Link(
        graph=history.family.name,
        call=call.id,
        tool_call_id=tool_call_id,
        child=child,
        metadata=detached(dict(metadata or {})),
    )
    history.family.links.append(link)
    history.new_links.append(link)
    return link


def read_kept(history: History, name: bytes | None) -> Any:  # Any: JSON read back
    """Return the answer or the tools that a call names, as plain data; None if there are none."""
    if name is None:
        return None
    blob = Blob(name, history.family.unsaved_blobs.get(name))
    history.family.reader.read_blobs((blob,))
    try:
        return blob.message()
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise StoreError(
            f"blob {name.hex()} is not JSON: it was changed on disk. Run `hermes graph verify`."
        ) from problem


def _named(call: Call, history: History, hasher: Hasher) -> Call:
    known = history.family.calls
    if not call.id:
        told = msgspec.json.encode((call, len(known)))
        return msgspec.structs.replace(call, id=f"c_{hasher.call(told).hex()[:32]}")
    if history.family.has_call(call.id):
        raise Conflict(
            f"Graph {call.graph!r} already has a call {call.id!r}. Each call needs its own id; "
            "leave it out to have one generated."
        )
    return call


def _integers(values: Iterable[int] | None) -> tuple[int, ...] | None:
    if values is None:
        return None
    found = tuple(list_of(values, "Token ids are"))
    if any(type(one) is not int or one < 0 for one in found):
        raise BadRequest("Token ids are whole numbers from 0 on; pass them as the tokenizer does.")
    return found


def _finite(values: Iterable[float] | None) -> tuple[float, ...] | None:
    if values is None:
        return None
    found = tuple(list_of(values, "Log-probabilities are"))
    if any(not isinstance(one, int | float) or not math.isfinite(one) for one in found):
        raise BadRequest("Log-probabilities are finite numbers; leave them out if some are not.")
    return tuple(float(one) for one in found)
