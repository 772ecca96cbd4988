"""Which messages belong together: a tool call and its results, in several message dialects.

Pure functions on plain messages; used to refuse results without calls and to find where a
conversation may be cut.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hermes.errors import BadRequest
from hermes.graph.blob import Blob, Message

# How a part declares itself a call or a result, and the key that holds the call's id.
_CALL_PARTS = {"tool_use": "id", "tool_call": "id"}
_RESULT_PARTS = {"tool_result": "tool_use_id"}


def calls_in(message: Mapping[str, Any]) -> list[str]:
    """Return the ids of the tool calls that a message makes."""
    found = [one.get("id") for one in _dicts(message.get("tool_calls"))]
    found += [part.get(_CALL_PARTS[kind]) for kind, part in _parts(message, _CALL_PARTS)]
    return [one for one in found if isinstance(one, str)]


def results_in(message: Mapping[str, Any]) -> list[str]:
    """Return the ids of the tool calls that a message answers."""
    found = [message.get("tool_call_id")] if message["role"] == "tool" else []
    found += [
        part.get(_RESULT_PARTS[kind], part.get("call_id"))
        for kind, part in _parts(message, _RESULT_PARTS)
    ]
    return [one for one in found if isinstance(one, str)]


def check_results(added: Sequence[Mapping[str, Any]], earlier: Iterable[Blob]) -> None:
    """Refuse a result whose call is neither earlier in `added` nor in `earlier`, newest first."""
    if not any(_may_answer(message) for message in added):
        return
    made: set[str] = set()
    wanted: set[str] = set()
    for message in added:
        _check_named(message)
        wanted.update(one for one in results_in(message) if one not in made)
        made.update(calls_in(message))
    if not wanted:
        return
    for blob in earlier:
        wanted.difference_update(calls_in(blob.message()))
        if not wanted:
            return
    raise BadRequest(
        f"A tool result answers a call that comes before it, but no message before this one makes "
        f"the call {sorted(wanted)[0]!r}. Add the assistant message with that call first."
    )


def check_answer(message: Mapping[str, Any]) -> None:
    """Refuse a tool result where a model's answer is expected."""
    if message["role"] == "tool" or results_in(message):
        raise BadRequest(
            "The response of a call must be a model's answer, but this is the result of a tool. "
            "Record the call with the model's answer, and append() the result."
        )


def cuts_of(messages: Sequence[Message]) -> list[int]:
    """Return every index before which a conversation may be cut without splitting a tool group."""
    answered: dict[str, int] = {}
    for index, message in enumerate(messages):
        answered.update(dict.fromkeys(results_in(message), index))
    cuts, open_until = [], 0
    for index in range(len(messages) + 1):
        if index >= open_until:
            cuts.append(index)
        if index < len(messages):
            ends = [
                answered[call] + 1 if call in answered else _end_of_group(messages, index)
                for call in calls_in(messages[index])
            ]
            open_until = max([open_until, *ends])
    return cuts


def _check_named(message: Mapping[str, Any]) -> None:
    parts = sum(1 for _ in _parts(message, _RESULT_PARTS))
    own = message["role"] == "tool" and (not parts or "tool_call_id" in message)
    if len(results_in(message)) < parts + own:
        raise BadRequest(
            "A tool result must name the call it answers, but this one does not. Add the id of the "
            "call as a text: 'tool_call_id' in a message with the role tool, 'tool_use_id' or "
            "'call_id' in a part."
        )


def _may_answer(message: Mapping[str, Any]) -> bool:
    # The common message, a role with a text, is not examined.
    return message["role"] == "tool" or type(message.get("content")) is not str


def _end_of_group(messages: Sequence[Message], index: int) -> int:
    # A call without a result: its group lasts until the next unrelated message, and at the end of a
    # conversation the result may still come.
    for later in range(index + 1, len(messages)):
        if not results_in(messages[later]):
            return later
    return len(messages) + 1


def _parts(message: Mapping[str, Any], kinds: Iterable[str]) -> Iterator[tuple[str, Message]]:
    for key in ("content", "parts"):
        for part in _dicts(message.get(key)):
            if isinstance(part.get("type"), str) and part["type"] in kinds:
                yield part["type"], part


def _dicts(value: Any) -> list[Message]:  # Any: a message may contain anything there
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
