"""The JSON Schema of `config.yaml`, for editors: `python -m hermes.config.json_schema > FILE`.

Part of config; made of the settings themselves. The result is shipped as `config.schema.json`, and a
test compares the two. An editor helps with it; what counts is `hermes config check`.
"""

import json
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hermes.config.keys import Node, root
from hermes.config.variables import PLATFORM_NAMES
from hermes.durable_file import write_durably

SCHEMA_FILE = "config.schema.json"
# The line by which editors find the schema: the file beside config.yaml.
EDITOR_LINE = f"# yaml-language-server: $schema=./{SCHEMA_FILE}"
_SHIPPED = Path(__file__).with_name(SCHEMA_FILE)
# Any: JSON of any shape.
JsonTable = dict[str, Any]
# Fields that say how a value is stored or that name a Python type; they mean nothing to an editor.
_UNUSED = frozenset({"title", "format", "writeOnly", "default"})


def make_schema() -> JsonTable:
    """Return the schema of the whole file."""
    schema = _table(root())
    # The short form of a platform: `telegram.x` for `platforms.telegram.extra.x`.
    schema["properties"] |= {
        name: {"type": ["object", "null"], "description": f"platforms.{name}, in its short form."}
        for name in sorted(PLATFORM_NAMES)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hermes config.yaml",
        "description": "The settings of a Hermes gateway; docs/settings.md explains every key.",
        **schema,
    }


@lru_cache(maxsize=1)
def shipped_schema() -> str:
    """Return the schema that is part of this version, as text."""
    return _SHIPPED.read_text(encoding="utf-8")


def put_schema(home: Path) -> None:
    """Write the schema beside `config.yaml`, where that names it; nothing if it is there."""
    path = home / SCHEMA_FILE
    wanted = shipped_schema().encode()
    if not path.exists() or path.read_bytes() != wanted:
        write_durably(path, wanted)


def schema_text() -> str:
    """Return the schema as the file has it."""
    return json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n"


def _of(node: Node) -> JsonTable:
    about = {"description": node.description} if node.description else {}
    if node.is_secret and about:
        about = {"description": f"{node.description} A secret: it belongs into .env."}
    if node.is_free:
        return {"type": ["object", "null"], **about}
    if node.is_leaf:
        return {**_value(node), **about}
    return {**_table(node), **about}


def _table(node: Node) -> JsonTable:
    """Return the schema of a table; without any value it may be left empty."""
    table: JsonTable = {"type": ["object", "null"]}
    if node.children:
        table["properties"] = {name: _of(child) for name, child in node.children.items()}
    table["additionalProperties"] = False if node.entry is None else _of(node.entry)
    if not node.takes_names:
        return table
    return {"anyOf": [table, {"type": "array", "items": {"type": "string"}}]}


def _value(node: Node) -> JsonTable:
    """Return the schema of one value, with its default."""
    schema: JsonTable = _plain(TypeAdapter(node.value_type).json_schema())
    default = node.default
    if default is not None and not node.is_secret and isinstance(default, str | int | float):
        schema["default"] = default
    return schema


def _plain(schema: Any) -> Any:
    """Return a schema without what only Python programs need."""
    if isinstance(schema, Mapping):
        return {name: _plain(part) for name, part in schema.items() if name not in _UNUSED}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema


if __name__ == "__main__":
    sys.stdout.write(schema_text())
