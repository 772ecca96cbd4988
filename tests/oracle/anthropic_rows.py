"""The requests of the Anthropic oracle: what Hermes is asked, and the same in the SDK's words.

A row names the model request's fields and the SDK's keyword arguments; what neither names is the
same small default for both.
"""

import enum
from typing import Any, Literal

import msgspec
import pydantic

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.options import Extras
from hermes.ports.provider import OutputSchema, ToolChoice, ToolSpec

# Any: both sides are loose JSON here; the service's own rules are checked by the stand-in.
Json = dict[str, Any]

HAIKU = "claude-haiku-4-5-20251001"
SONNET = "claude-sonnet-4-6"
OPUS = "claude-opus-5-5"
OLD = "claude-3-5-haiku-20241022"
PNG = "iVBORw0KGgo="
WEATHER: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
DEFS: Json = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/Place"}},
    "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}}},
}
TREE: Json = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}
LISTED: Json = {"type": "array", "items": {"type": "string"}}
MARK: Json = {"type": "ephemeral"}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One request, twice; `files` are images that exist, by path and base64."""

    name: str
    asked: Json
    sdk: Json
    settings: Json = {}
    files: dict[str, str] = {}


class Person(pydantic.BaseModel):
    """Somebody."""

    name: str
    age: int = pydantic.Field(ge=0, le=150, description="In years.")


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Party(pydantic.BaseModel):
    host: Person
    guests: list[Person] = pydantic.Field(min_length=1, max_length=9)
    colour: Colour | None = None
    kind: Literal["birthday", "wedding"]
    mail: str = pydantic.Field(json_schema_extra={"format": "email"})


def row(
    name: str,
    asked: Json | None = None,
    sdk: Json | None = None,
    *,
    settings: Json | None = None,
    files: dict[str, str] | None = None,
) -> Row:
    base = {"model": HAIKU, "messages": (user_text("hi"),), "max_output_tokens": 100}
    said = {"model": HAIKU, "messages": [user("hi")], "max_tokens": 100}
    asked = {**base, **(asked or {})}
    told = {**said, "model": asked["model"], **(sdk or {})}
    return Row(name=name, asked=asked, sdk=told, settings=settings or {}, files=files or {})


def user(content: str | list[Json]) -> Json:
    return {"role": "user", "content": content}


def said(content: str | list[Json]) -> Json:
    return {"role": "assistant", "content": content}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def use(id_: str, name: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def result(id_: str, content: str | None = None, **more: Any) -> Json:
    told = {} if content is None else {"content": content}
    return {"type": "tool_result", "tool_use_id": id_, **told, **more}


def tool(name: str, schema: Json, **more: Any) -> Json:
    return {"name": name, "description": f"Does {name}.", "input_schema": schema, **more}


def spec(name: str, schema: Json, description: str | None = None) -> ToolSpec:
    words = f"Does {name}." if description is None else description
    return ToolSpec(name, words, msgspec.Raw(msgspec.json.encode(schema)))


def ask(*parts: Part) -> ChatMessage:
    return ChatMessage("user", parts)


def answer(*parts: Part) -> ChatMessage:
    return ChatMessage("assistant", parts)


def results(*parts: Part) -> ChatMessage:
    return ChatMessage("tool", parts)


def schema_of(schema: Json, name: str = "shape") -> OutputSchema:
    return OutputSchema(name=name, schema=msgspec.Raw(msgspec.json.encode(schema)))


def thought(words: str, signature: str) -> ReasoningPart:
    return ReasoningPart(words, "anthropic", signature)


TOOLS = (spec("weather", WEATHER),)
SDK_TOOLS = [tool("weather", WEATHER)]
OSLO = ToolCallPart("toolu_1", "weather", '{"city": "Oslo"}')
ROME = ToolCallPart("toolu_2", "weather", '{"city":"Rome"}')

TEXTS = [
    row("one word"),
    row(
        "letters of many alphabets",
        {"messages": (user_text('naïve 日本語 🏔️\n\t"quoted" \\ </s>'),)},
        {"messages": [user('naïve 日本語 🏔️\n\t"quoted" \\ </s>')]},
    ),
    row(
        "a history keeps its roles",
        {"messages": (user_text("one"), answer(TextPart("two")), user_text("three"))},
        {"messages": [user("one"), said("two"), user("three")]},
    ),
    row(
        "a long history",
        {
            "messages": tuple(
                user_text(f"q{n}") if n % 2 == 0 else answer(TextPart(f"a{n}")) for n in range(41)
            )
        },
        {"messages": [user(f"q{n}") if n % 2 == 0 else said(f"a{n}") for n in range(41)]},
    ),
    row(
        "two messages of the user in a row",
        {"messages": (user_text("one"), user_text("two"))},
        {"messages": [user("one"), user("two")]},
    ),
    row(
        "two messages of the assistant in a row",
        {
            "messages": (
                user_text("q"),
                answer(TextPart("a")),
                answer(TextPart("b")),
                user_text("r"),
            )
        },
        {"messages": [user("q"), said("a"), said("b"), user("r")]},
    ),
    row(
        "several texts in one message",
        {"messages": (ask(TextPart("one"), TextPart("two")),)},
        {"messages": [user([text("one"), text("two")])]},
    ),
    row(
        "empty texts are left out",
        {"messages": (ask(TextPart(" "), TextPart("two")), answer(TextPart("")), user_text("x"))},
        {"messages": [user([text("two"), text("x")])]},
    ),
    row(
        "an empty message is said to be one",
        {"messages": (user_text(""),)},
        {"messages": [user("[an empty message]")]},
    ),
    row(
        "the last word of the assistant is continued",
        {"messages": (user_text("q"), answer(TextPart("The answer is ")))},
        {"messages": [user("q"), said("The answer is")]},
    ),
    row(
        "a conversation that the assistant began",
        {"messages": (answer(TextPart("Hello!")), user_text("hi"))},
        {
            "messages": [
                user("[the conversation begins with the assistant]"),
                said("Hello!"),
                user("hi"),
            ]
        },
    ),
]

SYSTEMS = [
    row("one system block", {"system": ("Be brief.",)}, {"system": "Be brief."}),
    row(
        "stacked system blocks",
        {"system": ("You are Hermes.", "Tools: none.", "Think first.")},
        {"system": [text("You are Hermes."), text("Tools: none."), text("Think first.")]},
    ),
    row("empty blocks are skipped", {"system": ("", "Be.", " ")}, {"system": [text("Be.")]}),
    row("no system at all", {"system": ("", "")}),
    row(
        "a system message inside the history",
        {
            "system": ("One.",),
            "messages": (ChatMessage("system", (TextPart("Two."),)), user_text("hi")),
        },
        {"system": [text("One."), text("Two.")]},
    ),
]

TOOL_ROWS = [
    row("one tool", {"tools": TOOLS}, {"tools": SDK_TOOLS}),
    row(
        "three tools",
        {"tools": tuple(spec(name, WEATHER) for name in ("a", "b", "c"))},
        {"tools": [tool(name, WEATHER) for name in ("a", "b", "c")]},
    ),
    row(
        "a tool without a description",
        {"tools": (spec("a", WEATHER, ""),)},
        {"tools": [{"name": "a", "input_schema": WEATHER}]},
    ),
    row(
        "a schema with definitions",
        {"tools": (spec("a", DEFS),)},
        {"tools": [tool("a", DEFS)]},
    ),
    row(
        "a schema without a type",
        {"tools": (spec("a", {}),)},
        {"tools": [tool("a", {"type": "object"})]},
    ),
    row(
        "some tool must be used",
        {"tools": TOOLS, "tool_choice": ToolChoice("required")},
        {"tools": SDK_TOOLS, "tool_choice": {"type": "any"}},
    ),
    row(
        "no tool may be used",
        {"tools": TOOLS, "tool_choice": ToolChoice("none")},
        {"tools": SDK_TOOLS, "tool_choice": {"type": "none"}},
    ),
    row(
        "one tool must be used",
        {"tools": TOOLS, "tool_choice": ToolChoice("required", "weather")},
        {"tools": SDK_TOOLS, "tool_choice": {"type": "tool", "name": "weather"}},
    ),
    row("a choice without tools", {"tool_choice": ToolChoice("required")}),
    row(
        "a call and its result",
        {
            "tools": TOOLS,
            "messages": (
                user_text("q"),
                answer(TextPart("Looking."), OSLO),
                results(ToolResultPart("toolu_1", "weather", "cold")),
            ),
        },
        {
            "tools": SDK_TOOLS,
            "messages": [
                user("q"),
                said([text("Looking."), use("toolu_1", "weather", city="Oslo")]),
                user([result("toolu_1", "cold")]),
            ],
        },
    ),
    row(
        "parallel calls, results in another order and apart",
        {
            "tools": TOOLS,
            "messages": (
                user_text("q"),
                answer(OSLO, ROME),
                results(ToolResultPart("toolu_2", "weather", "warm")),
                results(ToolResultPart("toolu_1", "weather", "cold")),
            ),
        },
        {
            "tools": SDK_TOOLS,
            "messages": [
                user("q"),
                said(
                    [
                        use("toolu_1", "weather", city="Oslo"),
                        use("toolu_2", "weather", city="Rome"),
                    ]
                ),
                user([result("toolu_1", "cold"), result("toolu_2", "warm")]),
            ],
        },
    ),
    row(
        "a failed and an empty result, and the user's next words",
        {
            "tools": TOOLS,
            "messages": (
                user_text("q"),
                answer(OSLO, ROME),
                results(
                    ToolResultPart("toolu_1", "weather", "no network", failed=True),
                    ToolResultPart("toolu_2", "weather", ""),
                ),
                user_text("and now?"),
            ),
        },
        {
            "tools": SDK_TOOLS,
            "messages": [
                user("q"),
                said(
                    [
                        use("toolu_1", "weather", city="Oslo"),
                        use("toolu_2", "weather", city="Rome"),
                    ]
                ),
                user(
                    [
                        result("toolu_1", "no network", is_error=True),
                        result("toolu_2"),
                        text("and now?"),
                    ]
                ),
            ],
        },
    ),
    row(
        "two rounds of tools",
        {
            "tools": TOOLS,
            "messages": (
                user_text("q"),
                answer(OSLO),
                results(ToolResultPart("toolu_1", "weather", "cold")),
                answer(ROME),
                results(ToolResultPart("toolu_2", "weather", "warm")),
                answer(TextPart("done")),
                user_text("thanks"),
            ),
        },
        {
            "tools": SDK_TOOLS,
            "messages": [
                user("q"),
                said([use("toolu_1", "weather", city="Oslo")]),
                user([result("toolu_1", "cold")]),
                said([use("toolu_2", "weather", city="Rome")]),
                user([result("toolu_2", "warm")]),
                said("done"),
                user("thanks"),
            ],
        },
    ),
    row(
        "arguments that are empty, broken, or no object",
        {
            "messages": (
                user_text("q"),
                answer(
                    ToolCallPart("a", "t", ""),
                    ToolCallPart("b", "t", '{"x":'),
                    ToolCallPart("c", "t", "[1]"),
                ),
                results(*(ToolResultPart(id_, "t", "ok") for id_ in "abc")),
            )
        },
        {
            "messages": [
                user("q"),
                said(
                    [
                        use("a", "t"),
                        use("b", "t", raw_arguments='{"x":'),
                        use("c", "t", raw_arguments="[1]"),
                    ]
                ),
                user([result(id_, "ok") for id_ in "abc"]),
            ]
        },
    ),
    row(
        "a call that nobody answered",
        {"messages": (user_text("q"), answer(OSLO), user_text("never mind"))},
        {
            "messages": [
                user("q"),
                said([use("toolu_1", "weather", city="Oslo")]),
                user(
                    [
                        result(
                            "toolu_1",
                            "The call was not finished; it has no result.",
                            is_error=True,
                        ),
                        text("never mind"),
                    ]
                ),
            ]
        },
    ),
    row(
        "a result whose call is not shown",
        {"messages": (results(ToolResultPart("gone", "t", "42")), user_text("so?"))},
        {
            "messages": [
                user([text("[the result of a tool call that is not shown: 42]"), text("so?")])
            ]
        },
    ),
    row(
        "ids of another dialect, also the same one twice",
        {
            "messages": (
                user_text("q"),
                answer(ToolCallPart("call:0", "t", "{}")),
                results(ToolResultPart("call:0", "t", "one")),
                answer(ToolCallPart("call:0", "t", "{}")),
                results(ToolResultPart("call:0", "t", "two")),
            )
        },
        {
            "messages": [
                user("q"),
                said([use("call_0", "t")]),
                user([result("call_0", "one")]),
                said([use("call_0_2", "t")]),
                user([result("call_0_2", "two")]),
            ]
        },
    ),
]


def picture(**source: str) -> Json:
    return {"type": "image", "source": source}


IMAGES = [
    row(
        "an image by its address",
        {
            "messages": (
                ask(ImagePart(Media("image/png", url="https://cdn.test/a")), TextPart("?")),
            )
        },
        {"messages": [user([picture(type="url", url="https://cdn.test/a"), text("?")])]},
    ),
    row(
        "an image by its bytes, whatever the platform called it",
        {
            "messages": (
                ask(ImagePart(Media("image/jpeg", path="/a", url="https://x.test")), TextPart("?")),
            )
        },
        {"messages": [user([picture(type="base64", media_type="image/png", data=PNG), text("?")])]},
        files={"/a": PNG},
    ),
    row(
        "an image inside its address",
        {
            "messages": (
                ask(ImagePart(Media("image/gif", url="data:image/gif;base64,R0lGODlhAQ=="))),
            )
        },
        {"messages": [user([picture(type="base64", media_type="image/gif", data="R0lGODlhAQ==")])]},
    ),
    row(
        "images that cannot be shown become words",
        {
            "messages": (
                ask(
                    ImagePart(Media("image/png", path="/gone")),
                    ImagePart(Media("image/tiff", url="data:image/tiff;base64,SUkqAA==")),
                ),
            )
        },
        {
            "messages": [
                user(
                    [
                        text("[an image was attached; it is no longer available or too large]"),
                        text("[an image was attached; this model cannot see its format]"),
                    ]
                )
            ]
        },
    ),
    row(
        "sounds and files become words",
        {
            "messages": (
                ask(
                    AudioPart(Media("audio/ogg"), transcript="good morning"),
                    AudioPart(Media("audio/ogg")),
                    FilePart(Media("application/pdf", name="menu.pdf")),
                ),
            )
        },
        {
            "messages": [
                user(
                    [
                        text("good morning"),
                        text("[a sound was attached; it has no transcript]"),
                        text("[a file was attached: menu.pdf]"),
                    ]
                )
            ]
        },
    ),
    row(
        "a service without eyes",
        {"messages": (ask(ImagePart(Media("image/png", url="https://cdn.test/a"))),)},
        {"messages": [user("[an image was attached; this model cannot see images]")]},
        settings={"vision": False},
    ),
]

OPTIONS = [
    row("a temperature of nothing", {"temperature": 0.0}, {"extra_body": {"temperature": 0.0}}),
    row("top_p", {"top_p": 0.9}, {"extra_body": {"top_p": 0.9}}),
    row(
        "of both, the temperature",
        {"temperature": 0.5, "top_p": 0.9},
        {"extra_body": {"temperature": 0.5}},
    ),
    row(
        "a temperature of another dialect",
        {"temperature": 1.7},
        {"extra_body": {"temperature": 1.0}},
    ),
    row("a model without temperatures", {"model": OPUS, "temperature": 0.5, "top_p": 0.9}),
    row(
        "words to stop at",
        {"stop": ("END", " ", "###")},
        {"stop_sequences": ["END", "###"]},
    ),
    row("no limit", {"max_output_tokens": None}, {"max_tokens": 4096}),
    row(
        "no limit where thinking counts",
        {"model": SONNET, "max_output_tokens": None},
        {"max_tokens": 16_384},
    ),
    row("the smaller limit", {}, {"max_tokens": 50}, settings={"max_output_tokens": 50}),
    row("the model of the settings", {"model": ""}, {"model": SONNET}, settings={"model": SONNET}),
]

THINKING = [
    row(
        "little effort as a budget",
        {"reasoning": "low", "max_output_tokens": None},
        {"max_tokens": 6144, "thinking": {"type": "enabled", "budget_tokens": 2048}},
    ),
    row(
        "high effort within half of the limit",
        {"reasoning": "high", "max_output_tokens": 6000},
        {"max_tokens": 6000, "thinking": {"type": "enabled", "budget_tokens": 3000}},
    ),
    row("no room to think", {"reasoning": "high", "max_output_tokens": 1024}, {"max_tokens": 1024}),
    row(
        "a budget",
        {"reasoning": 1500, "max_output_tokens": 2000},
        {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1500}},
    ),
    row(
        "a budget over the limit",
        {"reasoning": 9000, "max_output_tokens": 2000},
        {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1999}},
    ),
    row(
        "effort where the model decides",
        {"model": SONNET, "reasoning": "medium"},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
    ),
    row(
        "a budget where both are known",
        {"model": SONNET, "reasoning": 2048, "max_output_tokens": 4000},
        {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2048}},
    ),
    row(
        "a budget where only effort is known",
        {"model": OPUS, "reasoning": 30_000},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    ),
    row("a model that does not think", {"model": OLD, "reasoning": "high"}),
    row(
        "thinking and a temperature exclude each other",
        {"reasoning": 1024, "max_output_tokens": 2000, "temperature": 0.2, "top_p": 0.99},
        {
            "max_tokens": 2000,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "extra_body": {"top_p": 0.99},
        },
    ),
    row(
        "thinking and a forced tool exclude each other",
        {
            "model": SONNET,
            "reasoning": "low",
            "tools": TOOLS,
            "tool_choice": ToolChoice("required"),
        },
        {
            "tools": SDK_TOOLS,
            "tool_choice": {"type": "any"},
            "output_config": {"effort": "low"},
        },
    ),
    row(
        "thoughts go back unchanged, with their signatures and seals",
        {
            "reasoning": 1024,
            "max_output_tokens": 2000,
            "messages": (
                user_text("q"),
                answer(
                    thought("Hmm.\n", "c2ln+/=="),
                    ReasoningPart("", "anthropic", sealed="ENC+/=="),
                    thought("", "b21pdHRlZA=="),
                    TextPart("I look."),
                    OSLO,
                ),
                results(ToolResultPart("toolu_1", "weather", "cold")),
            ),
        },
        {
            "max_tokens": 2000,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "messages": [
                user("q"),
                said(
                    [
                        {"type": "thinking", "thinking": "Hmm.\n", "signature": "c2ln+/=="},
                        {"type": "redacted_thinking", "data": "ENC+/=="},
                        {"type": "thinking", "thinking": "", "signature": "b21pdHRlZA=="},
                        text("I look."),
                        use("toolu_1", "weather", city="Oslo"),
                    ]
                ),
                user([result("toolu_1", "cold")]),
            ],
        },
    ),
    row(
        "thoughts of other dialects and without a signature stay behind",
        {
            "messages": (
                user_text("q"),
                answer(
                    ReasoningPart("a", "gemini", "s"),
                    ReasoningPart("b", "anthropic"),
                    TextPart("x"),
                ),
                user_text("r"),
            )
        },
        {"messages": [user("q"), said("x"), user("r")]},
    ),
    row(
        "a turn that began without thinking ends without it",
        {
            "reasoning": 1024,
            "max_output_tokens": 2000,
            "messages": (
                user_text("q"),
                answer(OSLO),
                results(ToolResultPart("toolu_1", "weather", "cold")),
            ),
        },
        {
            "max_tokens": 2000,
            "messages": [
                user("q"),
                said([use("toolu_1", "weather", city="Oslo")]),
                user([result("toolu_1", "cold")]),
            ],
        },
    ),
]


def answer_tool(schema: Json, name: str = "shape") -> Json:
    return {"name": name, "description": "Gives the final answer.", "input_schema": schema}


def forced(name: str) -> Json:
    return {"type": "tool", "name": name, "disable_parallel_tool_use": True}


SCHEMAS = [
    row(
        "a flat schema with limits",
        {"schema": schema_of(Person.model_json_schema())},
        {"output_format": Person},
    ),
    row(
        "a nested schema",
        {"schema": schema_of(Party.model_json_schema())},
        {"output_format": Party},
    ),
    row(
        "a list of objects",
        {"schema": schema_of(pydantic.TypeAdapter(list[Person]).json_schema())},
        {"output_format": list[Person]},
    ),
    row(
        "a schema and tools",
        {"schema": schema_of(Person.model_json_schema()), "tools": TOOLS},
        {"output_format": Person, "tools": SDK_TOOLS},
    ),
    row(
        "a schema and effort",
        {"model": SONNET, "schema": schema_of(Person.model_json_schema()), "reasoning": "low"},
        {
            "output_format": Person,
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "low"},
        },
    ),
    row(
        "an older model answers by a tool",
        {"model": OLD, "schema": schema_of(WEATHER)},
        {"tools": [answer_tool(WEATHER)], "tool_choice": forced("shape")},
    ),
    row(
        "an older model may use its tools first",
        {"model": OLD, "schema": schema_of(WEATHER, "weather"), "tools": TOOLS},
        {
            "tools": [*SDK_TOOLS, answer_tool(WEATHER, "weather_answer")],
            "tool_choice": {"type": "any"},
        },
    ),
    row(
        "an answer that is no object is wrapped",
        {"model": OLD, "schema": schema_of(LISTED, "a list!")},
        {
            "tools": [
                answer_tool(
                    {"type": "object", "properties": {"value": LISTED}, "required": ["value"]},
                    "a_list_",
                )
            ],
            "tool_choice": forced("a_list_"),
        },
    ),
    row(
        "a schema that no native format can hold",
        {"schema": schema_of(TREE), "reasoning": "low", "max_output_tokens": 4096},
        {"max_tokens": 4096, "tools": [answer_tool(TREE)], "tool_choice": forced("shape")},
    ),
    row(
        "the same where nothing can be forced",
        {"model": OPUS, "schema": schema_of(TREE), "system": ("Be.",)},
        {
            "tools": [answer_tool(TREE)],
            "system": [text("Be."), text("Give the final answer by calling the tool shape.")],
        },
    ),
]

CACHES = [
    row(
        "marks on tools, system, history and the last turn",
        {
            "cache_prefix": True,
            "tools": (spec("a", WEATHER), spec("b", WEATHER)),
            "system": ("One.", "Two."),
            "messages": (user_text("q"), answer(TextPart("a")), user_text("r")),
        },
        {
            "tools": [tool("a", WEATHER), tool("b", WEATHER, cache_control=MARK)],
            "system": [text("One."), text("Two.", cache_control=MARK)],
            "messages": [
                user("q"),
                said([text("a", cache_control=MARK)]),
                user([text("r", cache_control=MARK)]),
            ],
        },
    ),
    row(
        "marks where there is little to mark",
        {"cache_prefix": True},
        {"messages": [user([text("hi", cache_control=MARK)])]},
    ),
    row(
        "no mark on thoughts",
        {
            "cache_prefix": True,
            "messages": (
                user_text("q"),
                answer(TextPart("a"), thought("Hmm.", "c2ln")),
                user_text("r"),
            ),
        },
        {
            "messages": [
                user("q"),
                said(
                    [
                        text("a", cache_control=MARK),
                        {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
                    ]
                ),
                user([text("r", cache_control=MARK)]),
            ]
        },
    ),
]

CLOSED: Json = {**WEATHER, "additionalProperties": False}
PDF = "JVBERi0="
PAPER = FilePart(Media("application/pdf", url=f"data:application/pdf;base64,{PDF}", name="a.pdf"))
LINKED = FilePart(Media("application/pdf", url="https://cdn.test/a.pdf"))
PDF_SOURCE = {"type": "base64", "media_type": "application/pdf", "data": PDF}
RARE = [
    row("top_k", {"extras": Extras(top_k=5)}, {"extra_body": {"top_k": 5}}),
    row(
        "top_k beside a temperature",
        {"extras": Extras(top_k=5), "temperature": 0.5},
        {"extra_body": {"top_k": 5, "temperature": 0.5}},
    ),
    row("top_k for a model without sampling", {"model": OPUS, "extras": Extras(top_k=5)}),
    row(
        "a strict tool",
        {"tools": (msgspec.structs.replace(spec("weather", CLOSED), strict=True),)},
        {"tools": [tool("weather", CLOSED, strict=True)]},
    ),
    row(
        "a strict tool for a model that has none",
        {"model": OLD, "tools": (msgspec.structs.replace(spec("weather", CLOSED), strict=True),)},
        {"tools": [tool("weather", CLOSED)]},
    ),
    row(
        "a document",
        {"messages": (ChatMessage("user", (TextPart("read"), PAPER)),)},
        {
            "messages": [
                user([text("read"), {"type": "document", "source": PDF_SOURCE, "title": "a.pdf"}])
            ]
        },
    ),
    row(
        "a document at an address",
        {"messages": (ChatMessage("user", (LINKED,)),)},
        {
            "messages": [
                user(
                    [
                        {
                            "type": "document",
                            "source": {"type": "url", "url": "https://cdn.test/a.pdf"},
                        }
                    ]
                )
            ]
        },
    ),
]

ROWS = [*TEXTS, *SYSTEMS, *TOOL_ROWS, *IMAGES, *OPTIONS, *THINKING, *SCHEMAS, *CACHES, *RARE]
