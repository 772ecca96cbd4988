"""Requests for the Responses wire written twice, as in `openai_rows`."""

from typing import Any

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import FilePart, Media, ReasoningPart, TextPart, ToolCallPart
from hermes.ports.options import Extras
from hermes.ports.provider import JSON_MODE, ModelRequest, OutputSchema, ToolChoice
from tests.oracle.openai_rows import (
    CLOCK,
    CLOSED,
    DEEP,
    FLAT,
    HI,
    MODEL,
    PAPER,
    PDF,
    PICTURE,
    PICTURE_URL,
    SDK_HI,
    STRICT,
    Json,
    Row,
    asked,
    assistant,
    image,
    raw,
    results,
    system,
    tool,
)

THINKER = "gpt-5-mini"
SEALED = ["reasoning.encrypted_content"]


def row(
    name: str,
    *messages: ChatMessage,
    sdk: list[Json] | None = None,
    also: Json | None = None,
    model: str = MODEL,
    settings: Json | None = None,
    **fields: Any,
) -> Row:
    request = ModelRequest(model=model, messages=messages or (HI,), **fields)
    given = {"model": model, "input": sdk or [SDK_HI], "store": False, **(also or {})}
    return Row(name, request, given, settings or {})


def sdk_tool(name: str, description: str = "Does it.", schema: Json = FLAT) -> Json:
    told = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", **told, "strict": False}


def sdk_call(id_: str, arguments: str) -> Json:
    return {"type": "function_call", "call_id": id_, "name": "clock", "arguments": arguments}


def sdk_result(id_: str, text: str) -> Json:
    return {"type": "function_call_output", "call_id": id_, "output": text}


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


def sdk_thought(id_: str, sealed: str, *texts: str) -> Json:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"type": "reasoning", "id": id_, "summary": summary, "encrypted_content": sealed}


def sdk_image(url: str) -> Json:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def sdk_text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def sdk_format(schema: Json, *, strict: bool) -> Json:
    return {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}}


SDK_CLOCK = [sdk_tool("clock")]
RESPONSES_ROWS = [
    row("text"),
    row("unicode", user_text("über 🜁\n"), sdk=[asked("über 🜁\n")]),
    row("one system block", system=("Be brief.",), also={"instructions": "Be brief."}),
    row(
        "stacked system blocks",
        system=("a", "", "b", "c"),
        sdk=[system("b"), system("c"), SDK_HI],
        also={"instructions": "a"},
    ),
    row(
        "history",
        user_text("a"),
        assistant(TextPart("b")),
        user_text("c"),
        sdk=[asked("a"), said("b"), asked("c")],
    ),
    row(
        "sampling",
        max_output_tokens=100,
        temperature=0.0,
        top_p=0.5,
        also={"max_output_tokens": 100, "temperature": 0.0, "top_p": 0.5},
    ),
    row(
        "the service's own limit",
        max_output_tokens=100,
        settings={"max_output_tokens": 40},
        also={"max_output_tokens": 40},
    ),
    *(
        row(
            f"effort {effort}",
            model=THINKER,
            reasoning=effort,
            also={"reasoning": {"effort": effort}, "include": SEALED},
        )
        for effort in ("low", "medium", "high")
    ),
    row(
        "effort with a summary",
        model=THINKER,
        reasoning=20_000,
        settings={"reasoning_summary": "auto"},
        also={"reasoning": {"effort": "high", "summary": "auto"}, "include": SEALED},
    ),
    row("a model that reasons by itself", model=THINKER, also={"include": SEALED}),
    row("one tool", tools=CLOCK, also={"tools": SDK_CLOCK}),
    row(
        "two tools",
        tools=(tool("clock"), tool("sum", "Adds.", DEEP)),
        also={"tools": [sdk_tool("clock"), sdk_tool("sum", "Adds.", DEEP)]},
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
        also={"tools": SDK_CLOCK, "tool_choice": {"type": "function", "name": "clock"}},
    ),
    row(
        "parallel calls and their results",
        HI,
        assistant(
            TextPart("One moment."),
            ToolCallPart("c1", "clock", '{ "zone": "Ö" }'),
            ToolCallPart("c2", "clock", "{}"),
        ),
        results(("c1", "a"), ("c2", "b")),
        sdk=[
            SDK_HI,
            said("One moment."),
            sdk_call("c1", '{ "zone": "Ö" }'),
            sdk_call("c2", "{}"),
            sdk_result("c1", "a"),
            sdk_result("c2", "b"),
        ],
    ),
    row(
        "sealed reasoning sent back",
        HI,
        assistant(
            ReasoningPart("One.", "responses", sealed="s1==", id="rs_1"),
            ReasoningPart("Two.", "responses", id="rs_1"),
            ToolCallPart("c1", "clock", "{}"),
        ),
        results(("c1", "a")),
        assistant(ReasoningPart("", "responses", sealed="s2==", id="rs_2"), TextPart("done")),
        user_text("thanks"),
        model=THINKER,
        sdk=[
            SDK_HI,
            sdk_thought("rs_1", "s1==", "One.", "Two."),
            sdk_call("c1", "{}"),
            sdk_result("c1", "a"),
            sdk_thought("rs_2", "s2=="),
            said("done"),
            asked("thanks"),
        ],
        also={"include": SEALED},
    ),
    row(
        "reasoning of another service",
        HI,
        assistant(ReasoningPart("hm", "openai"), TextPart("b")),
        HI,
        sdk=[SDK_HI, said("b"), SDK_HI],
    ),
    row(
        "images by address and by bytes",
        ChatMessage(
            "user", (TextPart("see?"), image("https://cdn.test/a.png"), image(path=PICTURE))
        ),
        sdk=[
            {
                "role": "user",
                "content": [
                    sdk_text("see?"),
                    sdk_image("https://cdn.test/a.png"),
                    sdk_image(PICTURE_URL),
                ],
            }
        ],
    ),
    row(
        "an image inside its address",
        ChatMessage("user", (TextPart("see?"), image(PICTURE_URL))),
        sdk=[{"role": "user", "content": [sdk_text("see?"), sdk_image(PICTURE_URL)]}],
    ),
    row(
        "a strict schema",
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        also={"text": sdk_format(DEEP, strict=True)},
    ),
    row(
        "a loose schema beside tools",
        tools=CLOCK,
        schema=OutputSchema(name="answer", schema=raw(FLAT), strict=False),
        also={"tools": SDK_CLOCK, "text": sdk_format(FLAT, strict=False)},
    ),
    row(
        "everything at once",
        ChatMessage("user", (TextPart("see?"), image("https://cdn.test/a.png"))),
        assistant(
            ReasoningPart("hm", "responses", sealed="s==", id="rs_1"),
            ToolCallPart("c1", "clock", "{}"),
        ),
        results(("c1", "noon")),
        model=THINKER,
        system=("a", "b"),
        tools=CLOCK,
        tool_choice=ToolChoice("none"),
        max_output_tokens=70,
        reasoning="low",
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        sdk=[
            system("b"),
            {"role": "user", "content": [sdk_text("see?"), sdk_image("https://cdn.test/a.png")]},
            sdk_thought("rs_1", "s==", "hm"),
            sdk_call("c1", "{}"),
            sdk_result("c1", "noon"),
        ],
        also={
            "instructions": "a",
            "include": SEALED,
            "tools": SDK_CLOCK,
            "tool_choice": "none",
            "max_output_tokens": 70,
            "reasoning": {"effort": "low"},
            "text": sdk_format(DEEP, strict=True),
        },
    ),
    row(
        "JSON mode",
        schema=JSON_MODE,
        also={"text": {"format": {"type": "json_object"}}},
    ),
    row(
        "verbosity and a summary",
        model=THINKER,
        reasoning="low",
        extras=Extras(verbosity="low", reasoning_summary="concise"),
        also={
            "include": SEALED,
            "reasoning": {"effort": "low", "summary": "concise"},
            "text": {"verbosity": "low"},
        },
    ),
    row(
        "verbosity beside a schema",
        model=THINKER,
        schema=OutputSchema(name="answer", schema=raw(DEEP)),
        extras=Extras(verbosity="high"),
        also={"include": SEALED, "text": {**sdk_format(DEEP, strict=True), "verbosity": "high"}},
    ),
    row(
        "tokens",
        extras=Extras(top_logprobs=2),
        also={"include": ["message.output_text.logprobs"], "top_logprobs": 2},
    ),
    row(
        "a strict tool",
        tools=(STRICT,),
        also={"tools": [{**sdk_tool("clock", schema=CLOSED), "strict": True}]},
    ),
    row(
        "a document",
        ChatMessage("user", (TextPart("read"), PAPER)),
        sdk=[
            {
                "role": "user",
                "content": [
                    sdk_text("read"),
                    {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                ],
            }
        ],
    ),
    row(
        "a document at an address",
        ChatMessage("user", (FilePart(Media("application/pdf", url="https://cdn.test/a.pdf")),)),
        sdk=[
            {
                "role": "user",
                "content": [{"type": "input_file", "file_url": "https://cdn.test/a.pdf"}],
            }
        ],
    ),
]
