"""A server's question to a person: its words for the chat, and what the person wrote as its answer.

Pure. The core brings the question to the person (`Ask`); a question is for the person whose call
caused it and for nobody else.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from hermes.ports.tool import ToolContext
from hermes.schema.checker import Unchecked, Unfit, checker_of
from hermes.tools.mcp.cleaning import cleaned, one_line

_MESSAGE_CHARS = 2_000
_FIELD_CHARS = 200
_MAX_FIELDS = 20
_MAX_CHOICES = 20
_YES = frozenset({"yes", "y", "true", "1", "on"})
_NO = frozenset({"no", "n", "false", "0", "off"})
_KINDS = {"boolean": "yes or no", "integer": "a whole number", "number": "a number"}
# Any: a JSON schema, and JSON values.
Json = Any
Schema = Mapping[str, Json]


class Ask(Protocol):
    """Brings a question to the person behind a call; None when they decline or cannot be asked."""

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema
    ) -> Mapping[str, Json] | None:
        """Return the person's answer, which `schema` describes; an empty schema is yes or no."""
        ...


def question_text(server: str, message: str, *, schema: Schema, url: str | None = None) -> str:
    """Return a server's question in words for the chat; it says who asks."""
    lines = [f"The tool server {server} asks:", cleaned(message, _MESSAGE_CHARS)]
    if url is not None:
        lines += ["It wants you to open this address:", one_line(url, _MESSAGE_CHARS)]
    lines += [f"- {_field(name, field)}" for name, field in _fields(schema)]
    return "\n".join(lines)


def read_answer(text: str, schema: Schema) -> Mapping[str, Json] | None:
    """Read what a person wrote as an answer; None when it does not fit the question.

    One field takes the whole text; several take a line each, `name: value`, or JSON.
    """
    fields = dict(_fields(schema))
    given = _json_object(text)
    if given is None and len(fields) == 1:
        [(name, field)] = fields.items()
        given = {name: _value(text.strip(), field)}
    elif given is None:
        given = {
            name.strip(): _value(value.strip(), fields[name.strip()])
            for name, found, value in (line.partition(":") for line in text.splitlines())
            if found and name.strip() in fields
        }
    return given if fits(given, schema) else None


def fits(answer: Mapping[str, Json], schema: Schema) -> bool:
    """Tell whether an answer is what the question asked for."""
    try:
        return checker_of(msgspec.json.encode(dict(schema))).fits(dict(answer))
    except (Unfit, Unchecked):
        return False


def _fields(schema: Schema) -> list[tuple[str, Schema]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    fields = [(str(name), field) for name, field in properties.items()]
    return [item for item in fields if isinstance(item[1], Mapping)][:_MAX_FIELDS]


def _field(name: str, field: Schema) -> str:
    about = field.get("description") or field.get("title") or ""
    choices = _choices(field)
    takes = " or ".join(choices) if choices else _KINDS.get(str(field.get("type")), "text")
    if field.get("type") == "array":
        takes = f"any of {takes}, with commas between"
    told = f"{name} ({takes})" + (f": {about}" if isinstance(about, str) and about else "")
    return one_line(told, _FIELD_CHARS)


def _choices(field: Schema) -> list[str]:
    """Return what may be chosen; the choices of a list stand at its items."""
    items = field.get("items")
    if isinstance(items, Mapping):
        return _choices({key: value for key, value in items.items() if key != "items"})
    listed = field.get("enum")
    if not isinstance(listed, list):
        titled = field.get("oneOf") or field.get("anyOf") or ()
        titled = titled if isinstance(titled, list) else ()
        listed = [item.get("const") for item in titled if isinstance(item, Mapping)]
    return [str(choice) for choice in listed[:_MAX_CHOICES] if choice is not None]


def _value(text: str, field: Schema) -> Json:
    """Read one value; what cannot be read stays text, and then does not fit."""
    kind = field.get("type")
    if kind == "boolean":
        word = text.lower().rstrip(".!")
        return True if word in _YES else False if word in _NO else text
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return text
    if kind == "array":
        return [item.strip() for item in text.split(",") if item.strip()]
    choices = {choice.lower(): choice for choice in _choices(field)}
    return choices.get(text.lower(), text)


def _json_object(text: str) -> dict[str, Json] | None:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None
