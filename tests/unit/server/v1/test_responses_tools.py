"""Tools of the Responses wire as functions, and which of them may, must or must not be used."""

from typing import Any

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.ports.provider import ToolChoice, ToolSpec
from hermes.server.v1.responses_tools import flat_name
from tests.unit.server.v1.responses_calls import PATCH, WEATHER, read

CODEX = {"originator": "codex_cli_rs"}


def refused(**more: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        read(**more)
    return str(caught.value)


@pytest.mark.req("M5")
def test_functions():
    call = read(tools=[WEATHER, {"type": "function", "name": "now", "parameters": None}])
    assert call.request.tools == (
        ToolSpec(
            "weather",
            "The weather.",
            msgspec.Raw(b'{"type":"object","properties":{"place":{"type":"string"}}}'),
        ),
        ToolSpec("now", "", msgspec.Raw(b'{"type":"object","properties":{}}')),
    )
    assert call.request.tool_choice == ToolChoice()


@pytest.mark.req("M5")
def test_a_freeform_tool_becomes_a_function_that_is_told_its_grammar():
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    (spec,) = read(tools=[{**PATCH, "format": grammar}]).request.tools
    assert (spec.name, spec.description) == (
        "apply_patch",
        "Changes files.\n\nThe input must fit this lark grammar:\nstart: WORD",
    )
    schema = msgspec.json.decode(spec.parameters)
    assert (list(schema["properties"]), schema["required"]) == (["input"], ["input"])


@pytest.mark.req("M5")
def test_the_shell_and_the_search_of_the_client_become_functions():
    search = {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}
    shell, found = read(tools=[{"type": "local_shell"}, search]).request.tools
    assert msgspec.json.decode(shell.parameters)["required"] == ["command"]
    assert (found.name, bytes(found.parameters)) == ("tool_search", b'{"type":"object"}')


@pytest.mark.req("M5")
def test_namespaces_are_flattened_into_names_of_their_own():
    spaces = [
        {"type": "namespace", "name": "a", "description": "About a.", "tools": [WEATHER, PATCH]},
        {"type": "namespace", "name": "mcp__b__", "tools": [WEATHER]},
    ]
    told = [(spec.name, spec.description) for spec in read(tools=[*spaces, WEATHER]).request.tools]
    assert told == [
        ("a__weather", "About a.\n\nThe weather."),
        ("a__apply_patch", "Changes files."),
        ("mcp__b__weather", "The weather."),
        ("weather", "The weather."),
    ]


@pytest.mark.req("M5")
def test_a_flat_name_that_is_too_long_is_cut_and_stays_unique():
    one, two = (flat_name("x" * 80 + end, "space") for end in ("1", "2"))
    assert (len(one), len(two), one == two) == (64, 64, False)
    assert flat_name("x" * 80 + "1", "space") == one


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    "kind",
    [
        "web_search",
        "web_search_preview",
        "file_search",
        "computer_use_preview",
        "code_interpreter",
        "image_generation",
        "mcp",
        "shell",
        "apply_patch",
        "tool_search",
        "something_new",
    ],
)
def test_tools_that_run_at_openai_are_refused(kind):
    told = refused(tools=[WEATHER, {"type": kind}])
    assert told.startswith("tools[1]: ")
    assert "cannot run here" in told


@pytest.mark.req("M1")
def test_what_codex_adds_by_itself_is_named_and_left_out():
    search = {"type": "web_search", "external_web_access": False}
    by_header = read(
        headers=CODEX, tools=[WEATHER, {"type": "web_search"}, {"type": "image_generation"}]
    )
    by_field = read(tools=[WEATHER, search])
    assert by_header.ignored == ("tools.web_search", "tools.image_generation")
    assert by_field.ignored == ("tools.web_search",)
    assert [spec.name for spec in by_header.request.tools] == ["weather"]
    assert "code_interpreter" in refused(headers=CODEX, tools=[{"type": "code_interpreter"}])


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "expected", "offered"),
    [
        ("auto", ToolChoice(), 3),
        ("none", ToolChoice("none"), 3),
        ("required", ToolChoice("required"), 3),
        ({"type": "function", "name": "weather"}, ToolChoice("required", "weather"), 3),
        ({"type": "custom", "name": "apply_patch"}, ToolChoice("required", "apply_patch"), 3),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "local_shell"}, {"type": "function", "name": "weather"}],
            },
            ToolChoice("required"),
            2,
        ),
        (
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "custom", "name": "apply_patch"}],
            },
            ToolChoice(),
            1,
        ),
    ],
)
def test_choices(choice, expected, offered):
    request = read(tools=[WEATHER, PATCH, {"type": "local_shell"}], tool_choice=choice).request
    assert (request.tool_choice, len(request.tools)) == (expected, offered)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "name": "apply_patch"},
        {"type": "function", "name": "nothing"},
        {"type": "file_search"},
        {"type": "mcp", "server_label": "x"},
        {"type": "allowed_tools", "mode": "auto", "tools": []},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]},
    ],
)
def test_a_choice_of_what_is_not_there_is_refused(choice):
    assert "tool_choice" in refused(tools=[WEATHER, PATCH], tool_choice=choice)


@pytest.mark.req("M5")
@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}])
def test_a_tool_cannot_be_asked_for_when_there_is_none(choice):
    assert "tool_choice" in refused(tool_choice=choice)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("tools", "place"),
    [
        ([WEATHER, WEATHER], "tools[1]"),
        ([{"type": "function"}], "tools[0]"),
        ([{**WEATHER, "parameters": []}], "tools[0].parameters"),
        ([{"name": "x"}], "tools[0]"),
        ([{"type": "namespace", "name": "a", "tools": [{"type": "mcp"}]}], "tools[0].tools[0]"),
        ([{**WEATHER, "name": f"t{n}"} for n in range(129)], "$.tools"),
        (
            [
                {
                    "type": "namespace",
                    "name": "a",
                    "tools": [{**WEATHER, "name": f"t{n}"} for n in range(129)],
                }
            ],
            "tools[0].tools[128]",
        ),
    ],
)
def test_faulty_tools_are_refused_with_their_place(tools, place):
    assert place in refused(tools=tools)
