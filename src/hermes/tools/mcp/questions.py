"""Converts a server's question to text for the chat.

Pure. The core brings the question to the person (`AskPerson`); only the person whose call caused it
may see it. `interview` parses the answer.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from hermes.ports.tool import Question, ToolContext
from hermes.schema.checker import UnusableSchema, ValueTooLarge, checker_of
from hermes.tools.mcp.clean_text import cleaned, one_line

_MESSAGE_CHARS = 2_000
_FIELD_CHARS = 200
_MAX_FIELDS = 20
_MAX_CHOICES = 20
_KINDS = {"boolean": "yes or no", "integer": "a whole number", "number": "a number"}
# Any: a JSON schema, and JSON values.
Json = Any
Schema = Mapping[str, Json]


class AskPerson(Protocol):
    """Brings a question to the person behind a call; None if they decline or cannot be asked."""

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Json] | None:
        """Return the person's answer, which `schema` describes; an empty schema is yes or no.

        The person may take `within_s`, counted from when the question is shown.
        """
        ...


async def ask_in_chat(
    context: ToolContext, text: str, *, schema: Schema, within_s: float
) -> Mapping[str, Json] | None:
    """Ask in the chat that the call belongs to."""
    if context.ask is None:
        return None
    return await context.ask(Question(text=text, schema=schema, within_s=within_s))


def question_text(server: str, message: str, *, schema: Schema, url: str | None = None) -> str:
    """Return a server's question as text for the chat; it names the server."""
    lines = [f"The tool server {server} asks:", cleaned(message, _MESSAGE_CHARS)]
    if url is not None:
        lines += ["It wants you to open this address:", one_line(url, _MESSAGE_CHARS)]
    lines += [f"- {field_text(name, field)}" for name, field in fields_of(schema)]
    return "\n".join(lines)


def fits(answer: Mapping[str, Json], schema: Schema) -> bool:
    """Return whether an answer is what the question asked for."""
    try:
        return checker_of(msgspec.json.encode(dict(schema))).fits(dict(answer))
    except (UnusableSchema, ValueTooLarge):
        return False


def fields_of(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the requested fields, by name; at most as many as a person can be asked."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return []
    fields = [(str(name), field) for name, field in properties.items()]
    return [item for item in fields if isinstance(item[1], Mapping)][:_MAX_FIELDS]


def field_text(name: str, field: Schema) -> str:
    """Return a description of one field's values, in a line."""
    about = field.get("description") or field.get("title") or ""
    choices = choices_of(field)
    takes = " or ".join(choices) if choices else _KINDS.get(str(field.get("type")), "text")
    if field.get("type") == "array":
        takes = f"any of {takes}, with commas between"
    told = f"{name} ({takes})" + (f": {about}" if isinstance(about, str) and about else "")
    return one_line(told, _FIELD_CHARS)


def choices_of(field: Schema) -> list[str]:
    """Return the choices; those of a list are in its items."""
    items = field.get("items")
    if isinstance(items, Mapping):
        return choices_of({key: value for key, value in items.items() if key != "items"})
    listed = field.get("enum")
    if not isinstance(listed, list):
        titled = field.get("oneOf") or field.get("anyOf") or ()
        titled = titled if isinstance(titled, list) else ()
        listed = [item.get("const") for item in titled if isinstance(item, Mapping)]
    return [str(choice) for choice in listed[:_MAX_CHOICES] if choice is not None]
