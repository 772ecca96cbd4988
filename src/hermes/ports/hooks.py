"""What a hook is, and which events there are to hear of.

A hook is code of the operator's own. It gets plain values, and words only if it asks for them.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from hermes.similar_words import nearest

STARTUP = "gateway:startup"
SHUTDOWN = "gateway:shutdown"
DISPATCH = "gateway:dispatch"
SESSION_START = "session:start"
SESSION_END = "session:end"
AGENT_START = "agent:start"
AGENT_STEP = "agent:step"
AGENT_END = "agent:end"
COMMAND = "command:"
EVENTS = (
    STARTUP,
    SHUTDOWN,
    DISPATCH,
    SESSION_START,
    SESSION_END,
    AGENT_START,
    AGENT_STEP,
    AGENT_END,
)
# What a context holds only for hooks that ask for the words of people and models.
WORDS = frozenset({"text", "reply", "argument"})
_EVERY = {
    "agent:*": (AGENT_START, AGENT_STEP, AGENT_END),
    "session:*": (SESSION_START, SESSION_END),
}
_KNOWN = (*EVENTS, *_EVERY, "command:*")

# Any: the values of a context are plain data, and an answer is whatever the hook returns.
Context = dict[str, Any]
Handle = Callable[[str, Context], Awaitable[Any]]


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook as the gateway calls it; `place` is where it comes from.

    One that `decides` is waited for where its answer counts. `text` says that it wants the words.
    """

    name: str
    events: tuple[str, ...]
    handle: Handle
    description: str = ""
    timeout_s: float | None = None
    decides: bool = False
    text: bool = False
    place: str = "a plugin"


def expand(events: Sequence[str]) -> tuple[str, ...]:
    """Return events with the wildcards of fixed groups written out."""
    return tuple(dict.fromkeys(one for event in events for one in _EVERY.get(event, (event,))))


def can_decide(event: str) -> bool:
    """Return whether anybody waits for an answer to an event."""
    return event == DISPATCH or event.startswith(COMMAND)


def problem_of(events: Sequence[str], *, decides: bool) -> tuple[str, str] | None:
    """Return what is wrong with the events of a hook, and what to do about it."""
    if not events:
        return "it names no events, expected at least one", f"write one of {', '.join(_KNOWN)}"
    for event in events:
        is_command = event.startswith(COMMAND) and len(event) > len(COMMAND)
        if not is_command and event not in _KNOWN:
            near = nearest(event, _KNOWN)
            meant = f"did you mean {near}?" if near else f"write one of {', '.join(_KNOWN)}"
            return f"there is no event {event!r}", meant
    if DISPATCH in events and not decides:
        return f"{DISPATCH} waits for an answer, but decides is false", "write decides: true"
    if decides and not any(map(can_decide, events)):
        return (
            f"decides is true, but only {DISPATCH} and command:NAME wait for an answer",
            "remove decides, or name one of them",
        )
    return None
