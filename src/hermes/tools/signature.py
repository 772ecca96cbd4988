"""Reads a function's signature for a model: its arguments, their types and meanings. Pure.

Everything that would make a bad tool is refused here, when the function is decorated, with the
place and what to change.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, get_type_hints

import msgspec

from hermes.errors import ConfigurationError
from hermes.ports.tool import ToolContext
from hermes.tools.docstrings import Docstring, read_docstring
from hermes.tools.hint_schema import as_json, description_of, of_model, readable, schema_of

# Any: functions of any shape, their hints and their JSON schemas.
Function = Callable[..., Any]
Json = Any

# Any: the kinds are a private enum of inspect.
_VARIADIC: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


class Signature(msgspec.Struct, frozen=True):
    """How a function is described to a model and called with the model's arguments.

    `arguments` is a struct of the function's arguments; `context` names the argument that gets the
    `ToolContext`.
    """

    description: str
    parameters: bytes
    arguments: type[msgspec.Struct]
    context: str | None = None

    def read(self, raw: msgspec.Raw) -> dict[str, object]:
        """Return the arguments in JSON with the types that the function expects."""
        found = msgspec.json.decode(raw, type=self.arguments, dec_hook=of_model)
        return {name: getattr(found, name) for name in self.arguments.__struct_fields__}


def place_of(function: Function) -> str:
    """Return where a function is defined, for people."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = f"{function.__module__}.{function.__qualname__}"
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def read_signature(function: Function) -> Signature:
    """Return a function's description for a model; raises `ConfigurationError` if it cannot be a
    tool."""
    place = place_of(function)
    said = _docstring(function, place)
    hints = _hints(function, place)
    given = dict(inspect.signature(function).parameters)
    context = next((name for name in given if hints.get(name) is ToolContext), None)
    given = {name: one for name, one in given.items() if name != context}
    for one in given.values():
        _check(one, hints, place=place)
    _check_names(said, (*given, context or ""), place=place)
    arguments = _struct(given, hints, place=place)
    return Signature(said.description, as_json(_schema(arguments, given, said)), arguments, context)


def _docstring(function: Function, place: str) -> Docstring:
    text = function.__doc__ or ""
    said = read_docstring(text)
    if not said.description:
        raise ConfigurationError(
            f"the tool {place} has no description: a model knows a tool by its docstring only. "
            "Write one or two sentences that say what it does and when to use it"
        )
    return said


def _hints(function: Function, place: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"the type hints of the tool {place} cannot be read ({error}); "
            "import the types at the top of the module, outside of `if TYPE_CHECKING`"
        ) from error


def _check(one: inspect.Parameter, hints: dict[str, Any], *, place: str) -> None:
    stars = _VARIADIC.get(one.kind)
    if stars is not None:
        raise ConfigurationError(
            f"the tool {place} takes {stars}{one.name}: a model has to know every argument by "
            "name. List them, or take one list or dict"
        )
    if one.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ConfigurationError(
            f"the argument {one.name!r} of the tool {place} is positional-only, but a model gives "
            "arguments by name; remove the `/`"
        )
    if one.name not in hints:
        raise ConfigurationError(
            f"the argument {one.name!r} of the tool {place} has no type hint: a model has to know "
            f"what to give. Write one, as in `{one.name}: str`"
        )
    if one.name.startswith("_"):
        raise ConfigurationError(
            f"the argument {one.name!r} of the tool {place} begins with an underscore; rename it"
        )


def _check_names(said: Docstring, known: tuple[str, ...], *, place: str) -> None:
    unknown = [name for name in said.arguments if name not in known]
    if unknown:
        raise ConfigurationError(
            f"the docstring of the tool {place} describes {', '.join(unknown)}, which is not one "
            "of its arguments; correct the name"
        )


def _struct(
    given: dict[str, inspect.Parameter], hints: dict[str, Any], *, place: str
) -> type[msgspec.Struct]:
    """Return a struct of the arguments, so that one decoder parses and checks them all."""
    fields: list[Any] = []
    for name, one in given.items():
        hint = readable(hints[name])
        _check_hint(hint, name, place=place)
        if one.default is inspect.Parameter.empty:
            fields.append((name, hint))
        else:
            fields.append((name, hint, msgspec.field(default_factory=partial(_same, one.default))))
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _same(value: object) -> object:
    return value


def _check_hint(hint: Any, name: str, *, place: str) -> None:
    try:
        schema_of(hint)
    except (TypeError, NameError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise ConfigurationError(
            f"the type of the argument {name!r} of the tool {place} cannot be described to a model "
            f"({reason}); use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, a "
            "TypedDict, a msgspec.Struct or a pydantic model"
        ) from error


def _schema(
    arguments: type[msgspec.Struct], given: dict[str, inspect.Parameter], said: Docstring
) -> Json:
    schema = schema_of(arguments)
    properties = schema.get("properties", {})
    for name, place in properties.items():
        told = description_of(arguments.__annotations__[name]) or said.arguments.get(name)
        if told:
            place["description"] = told
        _note_default(place, given[name].default)
    required = [name for name in given if name in schema.get("required", ())]
    whole = {"type": "object", "properties": properties}
    whole |= {"required": required} if required else {}
    whole |= {"additionalProperties": False}
    return whole | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def _note_default(place: Json, default: object) -> None:
    if default is inspect.Parameter.empty or default is None:
        return
    try:
        place["default"] = msgspec.json.decode(as_json(default))
    except (TypeError, NotImplementedError, ValueError):
        # A default without a JSON form is not shown to the model.
        return
