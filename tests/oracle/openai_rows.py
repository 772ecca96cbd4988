"""Requests written twice: as Hermes asks, and as a user of OpenAI's SDK would write them."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

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
from hermes.ports.provider import JSON_MODE, ModelRequest, OutputSchema, ToolChoice, ToolSpec

Json = dict[str, Any]
PICTURE = "picture.png"
PICTURE_BYTES = b"\x89PNG"
PICTURE_URL = "data:image/png;base64,iVBORw=="
FLAT: Json = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
DEEP: Json = {
    "type": "object",
    "properties": {
        "when": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"enum": ["ä", "b"]}},
        "node": {"$ref": "#/$defs/node"},
    },
    "required": ["when", "tags", "node"],
    "additionalProperties": False,
    "$defs": {
        "node": {
            "type": "object",
            "properties": {},
            "required": [],
            "additionalProperties": False,
        }
    },
}
MODEL = "gpt-4o-mini"


@dataclass(frozen=True)
class Row:
    """One request: how Hermes is asked, and what the SDK is given for the same."""

    name: str
    request: ModelRequest
    sdk: Json
    settings: Json = field(default_factory=dict)


def raw(schema: Json) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(schema))


def tool(name: str, description: str = "Does it.", schema: Json = FLAT) -> ToolSpec:
    return ToolSpec(name, description, raw(schema))


def assistant(*parts: Part) -> ChatMessage:
    return ChatMessage("assistant", parts)


def results(*pairs: tuple[str, str]) -> ChatMessage:
    return ChatMessage("tool", tuple(ToolResultPart(id_, "clock", text) for id_, text in pairs))


def image(url: str | None = None, path: str | None = None) -> ImagePart:
    return ImagePart(Media("image/png", url=url, path=path))


# What a user of the SDK writes for the same things.
def sdk_tool(name: str, description: str = "Does it.", schema: Json = FLAT) -> Json:
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def sdk_call(id_: str, arguments: str, name: str = "clock") -> Json:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def sdk_result(id_: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def sdk_image(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}


def sdk_text(text: str) -> Json:
    return {"type": "text", "text": text}


def sdk_format(name: str, schema: Json, *, strict: bool) -> Json:
    inner = {"name": name, "schema": schema, "strict": strict}
    return {"type": "json_schema", "json_schema": inner}


HI = user_text("hi")
SDK_HI: Json = {"role": "user", "content": "hi"}


def row(
    name: str,
    *messages: ChatMessage,
    sdk: list[Json] | None = None,
    also: Json | None = None,
    settings: Json | None = None,
    model: str = MODEL,
    **fields: Any,
) -> Row:
    request = ModelRequest(model=model, messages=messages or (HI,), **fields)
    given = {"model": model, "messages": sdk or [SDK_HI], **(also or {})}
    return Row(name, request, given, settings or {})


def system(text: str) -> Json:
    return {"role": "system", "content": text}


def said(text: str | None, *calls: Json) -> Json:
    told: Json = {"role": "assistant", "content": text}
    return {**told, "tool_calls": list(calls)} if calls else told


def asked(text: str) -> Json:
    return {"role": "user", "content": text}


LONG = [(f"question {n}", f"answer {n}") for n in range(20)]
PLAIN = [
    row("text"),
    row("unicode", user_text("über 🜁\n\t«»"), sdk=[asked("über 🜁\n\t«»")]),
    row("quotes", user_text('a "b" \\ c\u2028'), sdk=[asked('a "b" \\ c\u2028')]),
    row("empty text", user_text(""), sdk=[asked("")]),
    row("one system block", system=("Be brief.",), sdk=[system("Be brief."), SDK_HI]),
    row(
        "stacked system blocks",
        system=("a", "", "b", "c"),
        sdk=[system("a"), system("b"), system("c"), SDK_HI],
    ),
    row("only empty system blocks", system=("", "")),
    row(
        "history",
        user_text("a"),
        assistant(TextPart("b")),
        user_text("c"),
        sdk=[asked("a"), said("b"), asked("c")],
    ),
    row(
        "long history",
        *(m for q, a in LONG for m in (user_text(q), assistant(TextPart(a)))),
        HI,
        sdk=[*(m for q, a in LONG for m in (asked(q), said(a))), SDK_HI],
    ),
    row(
        "a system message inside the conversation",
        HI,
        ChatMessage("system", (TextPart("now"),)),
        sdk=[SDK_HI, system("now")],
    ),
    row("prompt cache", cache_prefix=True),
]
SAMPLING = [
    row("output limit", max_output_tokens=100, also={"max_completion_tokens": 100}),
    row(
        "the service's own limit",
        max_output_tokens=100,
        settings={"max_output_tokens": 40},
        also={"max_completion_tokens": 40},
    ),
    row("temperature zero", temperature=0.0, also={"temperature": 0.0}),
    row("temperature", temperature=1.5, also={"temperature": 1.5}),
    row("nucleus", top_p=0.1, also={"top_p": 0.1}),
    row("one stop", stop=("END",), also={"stop": ["END"]}),
    row("four stops", stop=("a", "\n", "§", "d"), also={"stop": ["a", "\n", "§", "d"]}),
    row(
        "all of it",
        max_output_tokens=5,
        temperature=0.3,
        top_p=0.9,
        stop=("x",),
        also={"max_completion_tokens": 5, "temperature": 0.3, "top_p": 0.9, "stop": ["x"]},
    ),
    *(
        row(f"effort {effort}", model="o3", reasoning=effort, also={"reasoning_effort": effort})
        for effort in ("low", "medium", "high")
    ),
    row("a budget for reasoning", model="o3", reasoning=6000, also={"reasoning_effort": "medium"}),
    row("effort for a model that does not reason", reasoning="low"),
]
CLOCK = (tool("clock"),)
SDK_CLOCK = [sdk_tool("clock")]
TOOLS = [
    row("one tool", tools=CLOCK, also={"tools": SDK_CLOCK}),
    row(
        "two tools",
        tools=(tool("clock"), tool("sum", "Adds ü.", DEEP)),
        also={"tools": [sdk_tool("clock"), sdk_tool("sum", "Adds ü.", DEEP)]},
    ),
    row(
        "a tool without parameters",
        tools=(tool("now", "", {"type": "object", "properties": {}}),),
        also={"tools": [sdk_tool("now", "", {"type": "object", "properties": {}})]},
    ),
    *(
        row(
            f"tools {mode}",
            tools=CLOCK,
            tool_choice=ToolChoice(mode),
            also={"tools": SDK_CLOCK, "tool_choice": mode},
        )
        for mode in ("none", "required")
    ),
    row(
        "a named tool",
        tools=CLOCK,
        tool_choice=ToolChoice("required", "clock"),
        also={
            "tools": SDK_CLOCK,
            "tool_choice": {"type": "function", "function": {"name": "clock"}},
        },
    ),
    row("a choice without tools", tool_choice=ToolChoice("required")),
    row(
        "a call and its result",
        HI,
        assistant(ToolCallPart("c1", "clock", '{"zone":"Oslo"}')),
        results(("c1", "noon")),
        sdk=[SDK_HI, said(None, sdk_call("c1", '{"zone":"Oslo"}')), sdk_result("c1", "noon")],
    ),
    row(
        "words before a call",
        HI,
        assistant(TextPart("One moment."), ToolCallPart("c1", "clock", "{}")),
        results(("c1", "")),
        sdk=[SDK_HI, said("One moment.", sdk_call("c1", "{}")), sdk_result("c1", "")],
    ),
    row(
        "parallel calls",
        HI,
        assistant(ToolCallPart("c1", "clock", "{}"), ToolCallPart("c2", "clock", '{"zone":2}')),
        results(("c1", "a"), ("c2", "b")),
        sdk=[
            SDK_HI,
            said(None, sdk_call("c1", "{}"), sdk_call("c2", '{"zone":2}')),
            sdk_result("c1", "a"),
            sdk_result("c2", "b"),
        ],
    ),
    row(
        "arguments as the model wrote them",
        HI,
        assistant(ToolCallPart("c1", "clock", '{ "zone" :\n "Ö" }')),
        results(("c1", "noon\n")),
        sdk=[SDK_HI, said(None, sdk_call("c1", '{ "zone" :\n "Ö" }')), sdk_result("c1", "noon\n")],
    ),
    row(
        "two rounds of calls and an answer",
        HI,
        assistant(ToolCallPart("c1", "clock", "{}")),
        results(("c1", "a")),
        assistant(ToolCallPart("c2", "clock", "{}")),
        results(("c2", "b")),
        assistant(TextPart("done")),
        user_text("thanks"),
        sdk=[
            SDK_HI,
            said(None, sdk_call("c1", "{}")),
            sdk_result("c1", "a"),
            said(None, sdk_call("c2", "{}")),
            sdk_result("c2", "b"),
            said("done"),
            asked("thanks"),
        ],
    ),
    row(
        "reasoning of another service",
        HI,
        assistant(
            ReasoningPart("hm", "anthropic", signature="s"), ToolCallPart("c1", "clock", "{}")
        ),
        results(("c1", "a")),
        sdk=[SDK_HI, said(None, sdk_call("c1", "{}")), sdk_result("c1", "a")],
    ),
]
SEEN = [
    row(
        "an image by its address",
        ChatMessage("user", (TextPart("see?"), image("https://cdn.test/a.png"))),
        sdk=[
            {
                "role": "user",
                "content": [sdk_text("see?"), sdk_image("https://cdn.test/a.png")],
            }
        ],
    ),
    row(
        "an image by its bytes",
        ChatMessage("user", (image(path=PICTURE), TextPart("see?"))),
        sdk=[{"role": "user", "content": [sdk_image(PICTURE_URL), sdk_text("see?")]}],
    ),
    row(
        "an image inside its address",
        ChatMessage("user", (image(PICTURE_URL), TextPart("see?"))),
        sdk=[{"role": "user", "content": [sdk_image(PICTURE_URL), sdk_text("see?")]}],
    ),
    row(
        "bytes before the address",
        ChatMessage("user", (image("https://cdn.test/a.png", PICTURE),)),
        sdk=[{"role": "user", "content": [sdk_image(PICTURE_URL)]}],
    ),
    row(
        "two images in the history",
        ChatMessage("user", (image("https://cdn.test/a.png"), image(path=PICTURE))),
        assistant(TextPart("nice")),
        HI,
        sdk=[
            {
                "role": "user",
                "content": [sdk_image("https://cdn.test/a.png"), sdk_image(PICTURE_URL)],
            },
            said("nice"),
            SDK_HI,
        ],
    ),
    row(
        "a sound by its transcript",
        ChatMessage("user", (AudioPart(Media("audio/ogg"), transcript="good morning"),)),
        sdk=[asked("good morning")],
    ),
    row(
        "a file by its name",
        ChatMessage("user", (TextPart("read"), FilePart(Media("text/plain", name="a.txt")))),
        sdk=[asked("read\n[a file was attached: a.txt]")],
    ),
]
SHAPED = [
    row(
        "a strict schema",
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        also={"response_format": sdk_format("answer", DEEP, strict=True)},
    ),
    row(
        "a loose schema",
        schema=OutputSchema(name="answer", schema=raw(FLAT), strict=False),
        also={"response_format": sdk_format("answer", FLAT, strict=False)},
    ),
    row(
        "a schema beside tools",
        tools=CLOCK,
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        also={"tools": SDK_CLOCK, "response_format": sdk_format("answer", DEEP, strict=True)},
    ),
    row(
        "everything at once",
        ChatMessage("user", (TextPart("see?"), image("https://cdn.test/a.png"))),
        assistant(TextPart("Hm."), ToolCallPart("c1", "clock", "{}")),
        results(("c1", "noon")),
        system=("a", "b"),
        tools=CLOCK,
        tool_choice=ToolChoice("none"),
        max_output_tokens=7,
        temperature=1.0,
        top_p=1.0,
        stop=("END",),
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        sdk=[
            system("a"),
            system("b"),
            {"role": "user", "content": [sdk_text("see?"), sdk_image("https://cdn.test/a.png")]},
            said("Hm.", sdk_call("c1", "{}")),
            sdk_result("c1", "noon"),
        ],
        also={
            "tools": SDK_CLOCK,
            "tool_choice": "none",
            "max_completion_tokens": 7,
            "temperature": 1.0,
            "top_p": 1.0,
            "stop": ["END"],
            "response_format": sdk_format("answer", DEEP, strict=True),
        },
    ),
]
CLOSED: Json = {**FLAT, "additionalProperties": False}
STRICT = ToolSpec("clock", "Does it.", raw(CLOSED), strict=True)
SDK_STRICT = {
    "type": "function",
    "function": {**sdk_tool("clock", schema=CLOSED)["function"], "strict": True},
}
PDF = "data:application/pdf;base64,JVBERi0="
PAPER = FilePart(Media("application/pdf", url=PDF, name="a.pdf"))
SOUND = AudioPart(Media("audio/wav", url="data:audio/wav;base64,UklGRg=="))
RARE = [
    row("seed", seed=7, also={"seed": 7}),
    row(
        "penalties",
        extras=Extras(frequency_penalty=0.5, presence_penalty=-1.5),
        also={"frequency_penalty": 0.5, "presence_penalty": -1.5},
    ),
    row("bias", extras=Extras(logit_bias={"50256": -100}), also={"logit_bias": {"50256": -100}}),
    row("tokens", extras=Extras(top_logprobs=0), also={"logprobs": True}),
    row(
        "tokens and others",
        extras=Extras(top_logprobs=3),
        also={"logprobs": True, "top_logprobs": 3},
    ),
    row(
        "a prediction",
        extras=Extras(prediction="once upon"),
        also={"prediction": {"type": "content", "content": "once upon"}},
    ),
    row(
        "JSON mode",
        user_text("as JSON"),
        sdk=[asked("as JSON")],
        schema=JSON_MODE,
        also={"response_format": {"type": "json_object"}},
    ),
    row("a strict tool", tools=(STRICT,), also={"tools": [SDK_STRICT]}),
    row(
        "one call at a time",
        tools=CLOCK,
        parallel_tools=False,
        also={"tools": SDK_CLOCK, "parallel_tool_calls": False},
    ),
    row(
        "a document",
        ChatMessage("user", (TextPart("read"), PAPER)),
        sdk=[
            {
                "role": "user",
                "content": [
                    sdk_text("read"),
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
                ],
            }
        ],
    ),
    row(
        "a sound",
        ChatMessage("user", (TextPart("hear"), SOUND)),
        sdk=[
            {
                "role": "user",
                "content": [
                    sdk_text("hear"),
                    {
                        "type": "input_audio",
                        "input_audio": {"data": "UklGRg==", "format": "wav"},
                    },
                ],
            }
        ],
    ),
]
CHAT_ROWS = [*PLAIN, *SAMPLING, *TOOLS, *SEEN, *SHAPED, *RARE]
