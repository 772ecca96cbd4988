"""JSON schemas from strangers: refused where nothing can be checked by them, quick where it can."""

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from hermes.calls.schema import check_schema, problem_of
from hermes.errors import BadRequest
from hermes.ports.provider import OutputSchema
from hermes.schema.checker import MAX_PROBLEM_CHARS
from hermes.schema.cost import SchemaCost, cost_of, size_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
        "boss": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}
REST = {"unevaluatedProperties": False}


def schema(root: object) -> OutputSchema:
    return OutputSchema(name="person", schema=msgspec.Raw(json.dumps(root).encode()))


def chain(length: int, link: Any) -> dict[str, Any]:
    """Definitions that each use the next one as `link` says."""
    steps = {f"a{n}": link({"$ref": f"#/$defs/a{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/a0", "$defs": {**steps, f"a{length}": {"type": "string"}}}


def nested(depth: int, leaf: object) -> str:
    return '{"x":' * depth + json.dumps(leaf) + "}" * depth


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    "root",
    [
        {},
        PERSON,
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"},
        {"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "https://a.example"}},
        {"$anchor": "top", "properties": {"x": {"$ref": "#top"}}},
        {"pattern": "(?=a)ab"},
    ],
)
def test_a_proper_schema_is_let_through(root):
    check_schema(schema(root))


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"{", "is not JSON"),
        (b"[1]", "must be a JSON object, and is an array"),
        (b"true", "must be a JSON object, and is a truth value"),
        (b'{"a":"' + b"x" * 262_144 + b'"}', "is 262152 bytes long, and 262144 are allowed"),
        (b'{"not":' * 70 + b"{}" + b"}" * 70, "nested more than 64 levels deep"),
        (b"[" * 100_000 + b"]" * 100_000, "nested more than 64 levels deep"),
        (b'{"type":"foo"}', r'is not valid at \$\.type: "foo"'),
        (b'{"properties":{"a":{"pattern":"("}}}', r"is not valid at \$\.properties\.a\.pattern"),
        (b'{"$ref":"#/$defs/none"}', "is not valid"),
        (b'{"$schema":"https://a.example/mine"}', "is not valid"),
        (
            b'{"properties":{"a":{"$ref":"https://a.example/s.json"}}}',
            r'refers outside of itself at \$\.properties\.a\.\$ref: "https://a\.example/s\.json"',
        ),
        (b'{"$dynamicRef":"other.json#x"}', "refers outside of itself"),
        (b'{"$defs":{"a":{"$id":"b"}}}', r"an address at \$\.\$defs\.a\.\$id"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_place(raw, says):
    with pytest.raises(BadRequest, match=says) as caught:
        check_schema(OutputSchema(name="person", schema=msgspec.Raw(raw)))

    assert str(caught.value).startswith('the JSON schema "person" ')
    assert len(str(caught.value)) < 700


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("root", "says"),
    [
        (chain(60, lambda ref: {"properties": {"x": ref, "y": ref}}), "has .* places when its ref"),
        (chain(3000, lambda ref: {"allOf": [ref], **REST}), "more than 150 nested places"),
        (chain(60, lambda ref: {"allOf": [ref, ref]}), "for the same value, and 40 are allowed"),
        (chain(9, lambda ref: {"allOf": [ref, ref], **REST}), "has .* places when its ref"),
        ({"properties": {"x": {"$ref": "#"}}, **REST}, "left unevaluated"),
    ],
)
def test_a_small_schema_that_references_make_huge_is_refused(root, says):
    with pytest.raises(BadRequest, match=says):
        check_schema(schema(root))


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name":"Ada","tags":["x"],"boss":{"name":"B","boss":null}}', None),
        ("Sure!", "the answer is not JSON: JSON is malformed: invalid character (byte 0)"),
        ('{"name":1}', 'the answer does not fit at $.name: 1 is not of type "string"'),
        ("{}", 'the answer does not fit at $: "name" is a required property'),
        (
            '{"name":"Ada","tags":["x","Y"]}',
            'the answer does not fit at $.tags[1]: "Y" does not match "^[a-z]+$"',
        ),
        ("[" * 100_000, "the answer is nested more than 100 levels deep"),
        (nested(101, 1), "the answer is nested more than 100 levels deep"),
    ],
)
def test_an_answer_fits_or_one_sentence_says_where_it_does_not(text, problem):
    assert problem_of(schema(PERSON), text) == problem


@pytest.mark.req("M6")
def test_an_answer_of_any_size_has_a_short_problem():
    long_value = problem_of(schema(PERSON), json.dumps({"name": ["x" * 100_000]}))
    long_key = problem_of(
        schema({"additionalProperties": {"type": "null"}}), '{"%s":1}' % ("k" * 9999)
    )
    too_long = problem_of(schema({}), '"' + "x" * 5_000_000 + '"')

    assert long_value is not None
    assert long_value.startswith("the answer does not fit at $.name: [")
    assert long_value.endswith('is not of type "string"')
    assert len(long_value) <= MAX_PROBLEM_CHARS
    assert long_key is not None
    assert len(long_key) <= MAX_PROBLEM_CHARS
    assert too_long == "the answer has 5000002 characters; at most 4194304 can be checked"


@pytest.mark.req("M6")
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("root", "text", "problem"),
    [
        ({"pattern": "^(a+)+$"}, json.dumps("a" * 5000 + "!"), "the answer does not fit at $: "),
        ({"pattern": r"^(\w+\1?)+$"}, json.dumps("a" * 5000 + "!"), "the answer does not fit at $"),
        # Fourteen doublings of a reason that nobody would read.
        (
            chain(14, lambda ref: {"anyOf": [ref, ref]}),
            "1",
            "the answer is JSON, but it does not fit the schema",
        ),
        (
            {
                "anyOf": [{"type": "string"}, *[{"properties": {"x": {"$ref": "#"}}}] * 3],
                "not": {"const": 1},
            },
            nested(90, 1),
            "the answer is JSON, but it does not fit the schema",
        ),
        (
            {"items": {"anyOf": [{"const": n} for n in range(15_000)]}},
            json.dumps(["x"] * 20_000),
            "the answer is too long to be checked against a schema as large as this one",
        ),
    ],
)
def test_no_schema_and_no_answer_can_hold_the_loop(root, text, problem):
    found = problem_of(schema(root), text)

    assert found is not None
    assert found.startswith(problem)


@pytest.mark.req("M6")
def test_a_bad_schema_is_never_taken_for_a_fit():
    found = problem_of(schema({"type": "foo"}), "1")

    assert found is not None
    assert found.startswith(
        "the answer cannot be checked, because the schema is not valid at $.type"
    )


@pytest.mark.req("M6")
def test_the_cost_counts_what_references_lead_to():
    leaf = {"type": "null"}
    twice = {
        "properties": {"a": {"$ref": "#/$defs/b"}, "c": {"$ref": "#/$defs/b"}},
        "$defs": {"b": leaf},
    }
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}

    assert cost_of(leaf, max_height=9) == SchemaCost(1, 1, 1, 0)
    assert cost_of(twice, max_height=9) == SchemaCost(5, 3, 1, 0)
    assert cost_of(tree, max_height=9) == SchemaCost(5, 3, 1, 2)
    assert cost_of(tree, max_height=9).reasons(3) == 40
    assert size_of({"a": [1, {}], "b": 2}) == (5, 3)
    assert size_of(1) == (1, 0)


@pytest.mark.req("M6")
def test_the_validator_is_loaded_by_the_first_schema_only():
    code = (
        "import sys; import hermes.calls.schema, hermes.calls.schema_ways;"
        "print('jsonschema_rs' in sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "False\n"
