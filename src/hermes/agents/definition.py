"""What a stored agent is: the fields that its author set, checked, and the settings made of them.

A document is the JSON of those fields and nothing else, so that defaults may change under it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hermes.config import AgentSettings
from hermes.config.keys import node_at
from hermes.errors import BadRequest

AGENT_ID_PREFIX: Final = "w"
NAME_RULE: Final = "1 to 63 small letters, digits and '-', and not begin with '-'"
MAX_DOCUMENT_BYTES: Final = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
# What an agent is beside its settings.
_OWN: Final = ("name", "shared")
_LONGEST_SHOWN = 80
# Any: JSON.
Document = Mapping[str, Any]
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A checked document: the name of an agent, and its settings.

    Calls without a context of their own share one conversation of each caller, or of all callers if
    the agent is `shared`.
    """

    name: str
    settings: AgentSettings
    shared: bool = False


def read_document(content: bytes) -> dict[str, Any]:
    """Return the fields of a stored document."""
    return _decode(content)


def write_document(document: Document) -> bytes:
    """Return a document as it is stored; raises `BadRequest` if it is too long."""
    content = _encode(document)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise BadRequest(
            f"The agent has {len(content):,} bytes of settings: {MAX_DOCUMENT_BYTES:,} are the most."
        )
    return content


def changed_document(document: Document, changes: Document) -> dict[str, Any]:
    """Return a document with some fields changed; None goes back to the default."""
    merged = {**document, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def changed_fields(old: Document, new: Document) -> dict[str, tuple[Any, Any]]:
    """Return what differs between two documents, by field; None is the default."""
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def define(document: Document) -> Definition:
    """Return the agent that a document describes; raises `BadRequest` if it is none."""
    own = {name: document[name] for name in _OWN if name in document}
    name = str(own.get("name", ""))
    if _NAME.fullmatch(name) is None:
        raise BadRequest(f"The name is {name[:_LONGEST_SHOWN]!r}: it must have {NAME_RULE}.")
    fields = {key: value for key, value in document.items() if key not in _OWN}
    return Definition(
        name=name,
        shared=bool(own.get("shared", False)),
        settings=_settings({"name": name, **fields}),
    )


def _settings(fields: Document) -> AgentSettings:
    try:
        return AgentSettings.model_validate(fields)
    except ValidationError as error:
        raise BadRequest(_problem(error)) from None


def _problem(error: ValidationError) -> str:
    """Return what is wrong with the first field that does not fit, without its value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    return f"The field {field[:_LONGEST_SHOWN]!r} is not valid: {_reason(first)}."


def _reason(error: ErrorDetails) -> str:
    """Return what a field takes; a check of our own says in whole words what is wrong."""
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    names = [step for step in error["loc"] if isinstance(step, str)]
    node = node_at(("agents", "name", *names))
    return error["msg"] if node is None or not node.expected else f"expected {node.expected}"
