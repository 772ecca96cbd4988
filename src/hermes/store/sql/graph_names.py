"""The ids (keyed hashes) of a turn's messages, and of what its model calls saw, for the graph."""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from hermes.graph.blob import Blob
from hermes.graph.growth import CallView
from hermes.graph.hasher import Hasher
from hermes.message.chat import ChatMessage
from hermes.message.reply import Usage
from hermes.ports.provider import ToolSpec
from hermes.ports.transcripts import NewCall
from hermes.ports.turns import Commit

_encode = msgspec.json.Encoder().encode
_TOOLSETS_KEPT = 64


class GraphNames:
    """Computes the ids of messages and tools; caches the ids of recent tools."""

    def __init__(self, hasher: Hasher) -> None:
        self.hasher = hasher
        self._tools: OrderedDict[tuple[tuple[str, str, bytes], ...], tuple[bytes, bytes]] = (
            OrderedDict()
        )
        # Nearly every call gets the same tuple as the call before it.
        self._last: tuple[Sequence[ToolSpec], tuple[bytes, bytes]] | None = None

    def kept(self, message: ChatMessage) -> Blob:
        """Return the id of a message whose content is stored elsewhere."""
        return Blob(self.hasher.blob(_encode(message)), None, True)

    def new(self, message: ChatMessage) -> Blob:
        """Return a message with its id and content, to be stored."""
        data = _encode(message)
        return Blob(self.hasher.blob(data), data)

    def tools(self, specs: Sequence[ToolSpec]) -> tuple[bytes, bytes]:
        """Return the id of a call's tools, and the tools as JSON."""
        if self._last is not None and self._last[0] is specs:
            return self._last[1]
        key = tuple((spec.name, spec.description, bytes(spec.parameters)) for spec in specs)
        known = self._tools.get(key)
        if known is None:
            data = _encode([_function(spec) for spec in specs])
            known = self._tools[key] = (self.hasher.tools(data), data)
            if len(self._tools) > _TOOLSETS_KEPT:
                self._tools.popitem(last=False)
        self._last = specs, known
        return known


def call_views(
    commit: Commit, blobs: Sequence[Blob], *, first: int, names: GraphNames
) -> tuple[CallView, ...]:
    """Return the calls of a commit, whose entries are `blobs` from index `first` on."""
    return tuple(call_view(call, blobs, first=first, names=names) for call in commit.calls)


def call_view(call: NewCall, blobs: Sequence[Blob], *, first: int, names: GraphNames) -> CallView:
    """Return a call of a turn whose entries are `blobs` from index `first` on."""
    metadata = dict(call.metadata)
    if call.cached_from is not None:
        metadata["cached_from"] = call.cached_from
    return CallView(
        id=call.id,
        lead=tuple(
            names.kept(message) if at in range(*call.known) else names.new(message)
            for at, message in enumerate(call.lead)
        ),
        start=first + call.skipped if call.start is None else call.start,
        stop=first + call.seen,
        response=blobs[call.seen] if call.seen < len(blobs) else None,
        model=call.model,
        tools=names.tools(call.tools)[0] if call.tools else None,
        sampling=call.sampling,
        usage=_usage(call.usage),
        metadata=metadata,
        sampled=call.sampled,
        at=call.at,
    )


def _usage(usage: Usage) -> dict[str, int | float]:
    told = {
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cached_in": usage.cached_in,
        "reasoning_out": usage.reasoning_out,
        "cost_usd": usage.cost_usd,
    }
    return {name: value for name, value in told.items() if value}


def _function(spec: ToolSpec) -> dict[str, object]:
    """Return a tool in the format of training data and most services."""
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": msgspec.json.decode(spec.parameters),
        },
    }
