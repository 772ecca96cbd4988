"""What a replay begins from: the first call of a message's turn as it was, or why there is none."""

from pathlib import Path
from typing import Protocol

import msgspec

from hermes.agents.roster import Agent
from hermes.errors import Conflict, NotFound, PersonErased
from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState
from hermes.message.parts import ImagePart
from hermes.message.session_key import graph_name
from hermes.pipeline.needs import PictureFinder
from hermes.pipeline.turn import PreparedTurn
from hermes.ports.ids import IdStore, whole_id
from hermes.ports.replays import FrozenCall, ReplayStore
from hermes.ports.steps import Step
from hermes.ports.timeline import Timeline
from hermes.ports.turns import MessageRecord

_decode = msgspec.json.Decoder(PreparedTurn).decode
_AFTER_RETENTION = "Finished messages are kept for store.retention_days."


class KnowsAgents(Protocol):
    """Finds agents as they were."""

    async def at_version(self, key: str, version: int) -> Agent | None: ...


class SourceStore(Protocol):
    """A store that knows messages, their steps and their calls."""

    @property
    def ids(self) -> IdStore: ...
    @property
    def replays(self) -> ReplayStore: ...
    async def timeline(self, name: str) -> Timeline | None: ...


class SourceServices(Protocol):
    """What reading needs: the store, the agents and the files of pictures."""

    @property
    def store(self) -> SourceStore: ...
    @property
    def roster(self) -> KnowsAgents: ...
    @property
    def media(self) -> PictureFinder | None: ...


class ReplaySource(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose answer can be made again, and what its turn had frozen."""

    message: MessageRecord
    event: MessageEvent
    agent: Agent
    call: FrozenCall
    model: str
    steps: tuple[Step, ...]


async def read_source(services: SourceServices, name: str) -> ReplaySource:
    """Return what a message's turn had frozen, by the message's id, a part of it or a call's id.

    Raises `NotFound` if the message is not known, and `Conflict` with the reason if it cannot be
    replayed.
    """
    message, timeline = await _message(services.store, name)
    prepared = _prepared(message, timeline)
    call = await _frozen(services.store, message, prepared)
    _check_pictures(call, services.media)
    agent = await services.roster.at_version(prepared.agent, prepared.agent_version)
    if agent is None:
        raise _impossible(message, f"its agent {prepared.agent!r} no longer exists")
    assert message.event is not None
    answered = (one.name for one in timeline.steps if one.kind == "model" and one.state == "done")
    return ReplaySource(
        message=message,
        event=message.event,
        agent=agent,
        call=call,
        model=next(answered, call.model),
        steps=timeline.steps,
    )


async def _message(store: SourceStore, name: str) -> tuple[MessageRecord, Timeline]:
    of_call = name.partition(".")[0]
    timeline = await store.timeline(name) or await store.timeline(of_call)
    if timeline is None:
        whole = await whole_id(store.ids, of_call, "message")
        timeline = None if whole is None else await store.timeline(whole)
    if timeline is None:
        raise NotFound(f"No message is known as {name[:100]!r}. {_AFTER_RETENTION}")
    if timeline.message is None:
        raise Conflict(
            f"{name[:100]!r} is a call of /v1 or was refused: only messages can be replayed."
        )
    return timeline.message, timeline


def _prepared(message: MessageRecord, timeline: Timeline) -> PreparedTurn:
    """Return what the first step froze."""
    if message.merged_into is not None:
        raise _impossible(message, f"it was answered with {message.merged_into}: replay that one")
    if message.state is not MessageState.DONE:
        raise _impossible(message, "it has not ended yet")
    if message.event is None:
        raise _impossible(message, "its person was erased")
    if any(step.kind == "adapter" for step in timeline.steps):
        raise _impossible(message, "an adapter answered it, and no model of this gateway")
    first = next((step for step in timeline.steps if step.kind == "prepared"), None)
    if first is None:
        raise _impossible(message, "no model was called for it")
    if first.body is None:
        raise _impossible(message, "its steps were deleted")
    return _decode(first.body)


async def _frozen(store: SourceStore, message: MessageRecord, prepared: PreparedTurn) -> FrozenCall:
    graph = graph_name(message.lane, prepared.epoch)
    try:
        call = await store.replays.frozen(graph, message.id)
    except PersonErased as error:
        raise _impossible(message, "somebody whose words its model saw was erased") from error
    except NotFound as error:
        raise _impossible(message, "what its model saw was deleted") from error
    if call is None:
        raise _impossible(message, "no model answered it, or its conversation was deleted")
    return call


def _check_pictures(call: FrozenCall, media: PictureFinder | None) -> None:
    """Raise `Conflict` if a file that the model saw is gone."""
    for message in (*call.lead, *call.said):
        for part in message.parts:
            if not isinstance(part, ImagePart) or part.media.path is None:
                continue
            path = (part if media is None else media.located(part)).media.path
            if path is None or not Path(path).is_file():
                raise Conflict(
                    "This message cannot be replayed: a picture that its model saw is no longer in "
                    "the media cache."
                )


def _impossible(message: MessageRecord, why: str) -> Conflict:
    return Conflict(f"Message {message.id} cannot be replayed: {why}.")
