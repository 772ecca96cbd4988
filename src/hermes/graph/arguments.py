"""Refuses arguments that a graph could accept but a storage could not return.

Covers only what comes with messages: names, authors and facts about a call.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hermes.errors import BadRequest


def check_text(value: object, what: str, *, may_be_empty: bool = False) -> None:
    """Refuse a value that is not a storable string; `what` is the subject of the error text."""
    if not isinstance(value, str):
        raise BadRequest(f"{what} is a text, this is of type {type(value).__name__}.")
    if not value and not may_be_empty:
        raise BadRequest(f"{what} is a text of at least one letter, this one is empty.")
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise BadRequest(
            f"{what} cannot be stored as text: there is half a surrogate pair at letter "
            f"{problem.start}. Decode with errors='replace'."
        ) from problem


def check_mapping(value: object, what: str) -> None:
    """Refuse a value that is neither None nor a dict."""
    if value is not None and not isinstance(value, Mapping):
        raise BadRequest(f"{what} is a dict, this is of type {type(value).__name__}.")


def checked_tools(tools: Iterable[Any] | None) -> list[Any] | None:  # Any: JSON as given
    """Return tools as a list; refuse what is not a list of dicts."""
    if tools is None:
        return None
    found = list_of(tools, "The tools of a call are")
    for index, tool in enumerate(found):
        if not isinstance(tool, Mapping):
            raise BadRequest(
                f"The tools of a call are a list of dicts, number {index} is of type "
                f"{type(tool).__name__}."
            )
    return found


def list_of(values: Any, what: str) -> list[Any]:  # Any: any value
    """Return values as a list; refuse a string, a dict and anything that is not iterable."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadRequest(f"{what} a list, this is of type {type(values).__name__}.")
    return list(values)
