"""JSON schemas as Gemini takes them: pure; sits between the port's raw schemas and the wire.

Gemini reads JSON schema itself (`parametersJsonSchema`, `responseJsonSchema`) and passes over
words that it does not know, with one exception: beside `$ref` it allows nothing else.
"""

from typing import Any

import msgspec

_REF = b'"$ref"'
# Words whose value is a map from names to schemas, where `$ref` would be a name.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties"})
# Words whose value is data, not a schema.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})


def fitted(schema: msgspec.Raw) -> msgspec.Raw:
    """Return `schema`, unchanged where possible, with every `$ref` standing alone."""
    if _REF not in bytes(schema):
        return schema
    found = msgspec.json.decode(schema)
    made = _alone(found)
    return schema if made == found else msgspec.Raw(msgspec.json.encode(made))


# Any: a JSON schema.
def _alone(node: Any) -> Any:
    if isinstance(node, list):
        return [_alone(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {word: _value(word, value) for word, value in node.items()}
    if "$ref" not in made or "anyOf" in made or all(word.startswith("$") for word in made):
        return made
    reference = {"$ref": made.pop("$ref")}
    return {"anyOf": [reference], **made}


def _value(word: str, value: Any) -> Any:
    if word in _DATA:
        return value
    if word in _NAMED and isinstance(value, dict):
        return {name: _alone(schema) for name, schema in value.items()}
    return _alone(value)
