"""What a server lists is a stranger's word: filtered, bounded, and run with caution."""

import json
from typing import Any

import msgspec
import pytest

from hermes.config import McpServerSettings
from hermes.ports.tool import ToolTraits
from hermes.tools.mcp.catalogue import Catalogue, ListedTool, make_catalogue, traits_of

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


def settings(**given: Any) -> McpServerSettings:
    return McpServerSettings.model_validate({"command": "x", **given})


def tool(name: str, **given: Any) -> ListedTool:
    return ListedTool(name=name, **{"schema": OBJECT, **given})


def catalogue(*listed: ListedTool, **given: Any) -> Catalogue:
    return make_catalogue("s", listed, settings=settings(**given), servers=["s"], ask_timeout_s=0.0)


def names(found: Catalogue) -> list[str]:
    return [offer.original for offer in found.offers]


@pytest.mark.req("W37")
def test_only_what_is_allowed_and_not_denied_is_taken() -> None:
    listed = [tool("read_a"), tool("read_b"), tool("write_a")]

    assert names(catalogue(*listed)) == ["read_a", "read_b", "write_a"]
    assert names(catalogue(*listed, allow=["read_*"])) == ["read_a", "read_b"]
    assert names(catalogue(*listed, allow=["read_*"], deny=["*_b"])) == ["read_a"]


@pytest.mark.req("W37")
def test_thousands_of_tools_are_cut_and_it_is_said() -> None:
    found = catalogue(*(tool(f"t{number}") for number in range(5_000)), max_tools=100)

    assert len(found.offers) == 100
    assert found.notes == ("4900 more tools are left out, because max_tools is 100",)


@pytest.mark.req("W37")
def test_what_cannot_be_offered_is_left_out_with_its_reason() -> None:
    huge = {"type": "object", "description": "x" * 70_000}
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}

    found = catalogue(
        tool(""),
        tool("n" * 300),
        tool("twice"),
        tool("twice"),
        tool("array", schema={"type": "array"}),
        tool("none", schema={}),
        tool("huge", schema=huge),
        tool("deep", schema=deep),
        tool("wrong", schema={"type": "object", "required": "a"}),
        tool("far", schema={"type": "object", "$ref": "https://example.org/schema.json"}),
    )

    assert names(found) == ["twice"]
    assert len(found.notes) == 9
    assert "twice is left out: it is listed twice" in found.notes
    assert all(" is left out: " in note for note in found.notes)


@pytest.mark.req("W37")
def test_notes_are_few() -> None:
    found = catalogue(*(tool(f"t{number}", schema={}) for number in range(1_000)))

    assert len(found.notes) == 21
    # 100 were looked at
    assert found.notes[0] == "900 more tools are left out, because max_tools is 100"
    assert found.notes[-1] == "and 81 more"


@pytest.mark.req("W37")
def test_the_words_of_a_tool_are_cleaned_and_bounded_and_its_data_is_not_touched() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "do\u202e it\x1b", "enum": ["x\u200by"]},
            "description": {"type": "string"},
        },
    }

    [offer] = catalogue(tool("t", description="\x00" + "d" * 9_999, schema=schema)).offers

    assert len(offer.spec.description) == 4_000
    assert "\x00" not in offer.spec.description
    assert json.loads(bytes(offer.spec.parameters)) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "do it", "enum": ["x\u200by"]},
            "description": {"type": "string"},
        },
    }


@pytest.mark.req("W35", "W37")
def test_a_secret_of_the_server_does_not_come_back_in_a_description() -> None:
    [offer] = catalogue(
        tool("t", description="use canary-0123456789"), env={"KEY": "canary-0123456789"}
    ).offers

    assert offer.spec.description == "use ****"


@pytest.mark.req("W37")
def test_a_changed_name_is_told() -> None:
    found = catalogue(tool("files.read"), tool("plain"))

    assert found.notes == ("files.read is renamed to mcp_s_files_read",)


def traits(given: dict[str, Any], **hints: bool) -> tuple[bool, bool]:
    found = traits_of(tool("rm_all", **hints), settings(**given), timeout_s=9)
    return found.needs_approval, found.idempotent


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, (True, False)),
        ({"read_only": True}, (False, True)),
        ({"read_only": False}, (True, False)),
        ({"destructive": True}, (True, False)),
        ({"destructive": False}, (False, False)),
        ({"idempotent": True}, (True, True)),
        ({"destructive": False, "idempotent": True}, (False, True)),
        # What contradicts itself is not believed.
        ({"read_only": True, "destructive": True}, (True, False)),
    ],
)
def test_what_may_destroy_or_says_nothing_asks_first(
    hints: dict[str, bool], expected: tuple[bool, bool]
) -> None:
    assert traits({}, **hints) == expected


@pytest.mark.req("W37")
def test_the_operator_has_the_last_word_on_approval() -> None:
    assert traits({"approval": "always"}, read_only=True) == (True, False)
    assert traits({"approval": "never"}, destructive=True) == (False, False)
    assert traits({"always_ask": ["rm_*"], "approval": "never"}, read_only=True) == (True, True)
    assert traits({"never_ask": ["rm_*"], "approval": "always"}) == (False, False)


@pytest.mark.req("W37")
def test_limits_are_per_server_and_per_tool_and_leave_time_to_ask() -> None:
    given = settings(timeout_s=7, tool_timeouts_s={"slow": 90}, parallel=True)

    quick, slow = make_catalogue(
        "s", [tool("quick"), tool("slow")], settings=given, servers=["s"], ask_timeout_s=300
    ).offers

    assert (quick.timeout_s, slow.timeout_s) == (7, 90)
    assert quick.traits == ToolTraits(
        cancellable=True, needs_approval=True, parallel=True, timeout_s=312.0
    )
    assert slow.traits.timeout_s == 395.0


@pytest.mark.req("W37")
def test_two_lists_that_say_the_same_are_equal() -> None:
    one, two = catalogue(tool("a"), tool("b")), catalogue(tool("a"), tool("b"))

    assert one == two
    assert one != catalogue(tool("a"))
    assert one.offers[0].spec.parameters == msgspec.Raw(msgspec.json.encode(OBJECT))
