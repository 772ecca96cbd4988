"""Google's own SDK as the oracle of the Gemini wire: the same request, and the same answer read.

Both sides talk to the strict stand-in, so what the SDK sends also proves that the stand-in is not
stricter than the service's own client.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from google import genai
from google.genai import types

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.options import Extras
from hermes.ports.provider import (
    JSON_MODE,
    CallEnd,
    ModelRequest,
    OutputSchema,
    ToolChoice,
    ToolSpec,
)
from hermes.providers.gemini.provider import GeminiProvider
from hermes.providers.gemini.settings import GeminiSettings
from hermes.testing.gemini_server import GeminiCall, GeminiServer
from hermes.testing.gemini_shape import camel

NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"
PNG = b"\x89PNG\xff\xfe\xfb\xef"
SIGNED = b"\xff\xfe\xfbsigned"
SIGNATURE = base64.b64encode(SIGNED).decode()
CLOCK_SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
PLAIN_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
DEEP_SCHEMA = {
    "type": "object",
    "properties": {
        "when": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
        "node_of": {"$ref": "#/$defs/node"},
    },
    "additionalProperties": False,
    "$defs": {"node": {"type": "object", "properties": {"snake_name": {"type": "string"}}}},
}
BESIDE_SCHEMA = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/at", "description": "where"}},
    "$defs": {"at": {"type": "string"}},
}

CONFIG = "generationConfig"
PAPER = FilePart(Media("application/pdf", url="data:application/pdf;base64,JVBERi0="))
SOUND = AudioPart(Media("audio/wav", url="data:audio/wav;base64,UklGRg=="))

Body = dict[str, Any]


def standard_base64(body: Any) -> Any:
    """Return `body` with the bytes of signatures and images in base64's standard alphabet."""
    if isinstance(body, list):
        return [standard_base64(one) for one in body]
    if not isinstance(body, dict):
        return body
    return {
        name: value.replace("-", "+").replace("_", "/")
        if name in {"thoughtSignature", "data"}
        else standard_base64(value)
        for name, value in body.items()
    }


def without_empty_config(body: Body) -> Body:
    return {name: value for name, value in body.items() if (name, value) != (CONFIG, {})}


def without_foreign_signature(body: Body) -> Body:
    for content in body["contents"]:
        for part in content["parts"]:
            if part.get("thoughtSignature") == "skip/thought/signature/validator":
                del part["thoughtSignature"]
    return body


def references_with_company(body: Body) -> Body:
    """Return the body with the one schema of these rows as its author wrote it."""
    declared = body["tools"][0]["functionDeclarations"][0]
    at = declared["parametersJsonSchema"]["properties"]["at"]
    if "anyOf" in at:
        at["$ref"] = at.pop("anyOf")[0]["$ref"]
    return body


def without_empty_parts(body: Body) -> Body:
    for content in body["contents"]:
        content["parts"] = [part for part in content["parts"] if part != {"text": ""}]
    body["contents"] = [content for content in body["contents"] if content["parts"]]
    return body


# Every difference that is accepted, and why; the functions undo it on both sides.
EVERYWHERE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "field case": (
        "the SDK writes some nested fields in snake_case; protobuf's JSON takes both, and the"
        " documentation writes lowerCamelCase",
        camel,
    ),
    "base64 alphabet": (
        "the SDK encodes bytes again in the URL-safe alphabet; Hermes sends signatures exactly as"
        " they came, and images in the standard alphabet of the documentation",
        standard_base64,
    ),
    "empty settings": (
        "the SDK sends an empty generationConfig where nothing is set; Hermes sends none",
        without_empty_config,
    ),
}
WHERE_NAMED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "foreign signature": (
        "Gemini 3 refuses calls that it did not sign; Hermes fails over between services, so it"
        " sends the documented placeholder, the SDK knows only histories of its own",
        without_foreign_signature,
    ),
    "reference in company": (
        "the service allows nothing beside $ref; the SDK passes the schema on and is refused",
        references_with_company,
    ),
    "empty text": (
        "the service refuses empty parts; the SDK passes them on and is refused",
        without_empty_parts,
    ),
}


class Row(msgspec.Struct, kw_only=True):
    name: str
    request: ModelRequest
    contents: list[types.Content]
    config: dict[str, Any] = {}
    differences: tuple[str, ...] = ()


def said(text: str) -> ChatMessage:
    return ChatMessage("assistant", (TextPart(text),))


def user(*parts: types.Part | str) -> types.Content:
    return types.Content(role="user", parts=[_part(part) for part in parts])


def model(*parts: types.Part | str) -> types.Content:
    return types.Content(role="model", parts=[_part(part) for part in parts])


def _part(part: types.Part | str) -> types.Part:
    return types.Part(text=part) if isinstance(part, str) else part


def sdk_call(id_: str, name: str, args: Body, *, signed: bool = False) -> types.Part:
    call = types.FunctionCall(id=id_, name=name, args=args)
    return types.Part(function_call=call, thought_signature=SIGNED if signed else None)


def sdk_result(id_: str, name: str, **response: Any) -> types.Part:
    made = types.FunctionResponse(id=id_, name=name, response=response)
    return types.Part(function_response=made)


def sdk_tools(**schemas: Body) -> list[types.Tool]:
    return [
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name=name, description=f"The {name}.", parameters_json_schema=schema
                )
                for name, schema in schemas.items()
            ]
        )
    ]


def specs(**schemas: Body) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(name, f"The {name}.", msgspec.Raw(msgspec.json.encode(schema)))
        for name, schema in schemas.items()
    )


def calling(mode: str, *names: str) -> types.ToolConfig:
    return types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(
            mode=types.FunctionCallingConfigMode(mode), allowed_function_names=list(names) or None
        )
    )


def asking(*messages: ChatMessage, to: str = OLD, **fields: Any) -> ModelRequest:
    return ModelRequest(model=to, messages=messages or (user_text("hi"),), **fields)


def plain(name: str, config: dict[str, Any] | None = None, *, to: str = OLD, **fields: Any) -> Row:
    """Return a row whose conversation is one word; what is set beside it is the point."""
    return Row(
        name=name, request=asking(to=to, **fields), contents=[user("hi")], config=config or {}
    )


def talk(name: str, *pairs: tuple[ChatMessage, types.Content], **fields: Any) -> Row:
    """Return a row made of messages, each beside what the SDK is given for it."""
    return Row(
        name=name,
        request=asking(*(ours for ours, _ in pairs), **fields),
        contents=[theirs for _, theirs in pairs],
    )


def schema_of(schema: Body) -> OutputSchema:
    return OutputSchema(name="answer", schema=msgspec.Raw(msgspec.json.encode(schema)))


ASK = (user_text("what time?"), user("what time?"))
ONE_CALL = (
    ChatMessage("assistant", (ToolCallPart("c1", "clock", '{"zone":"Oslo"}'),)),
    model(sdk_call("c1", "clock", {"zone": "Oslo"})),
)
ONE_RESULT = (
    ChatMessage("tool", (ToolResultPart("c1", "clock", "noon"),)),
    user(sdk_result("c1", "clock", output="noon")),
)
SIGNED_CALL = (
    ChatMessage(
        "assistant",
        (
            ReasoningPart("", "gemini", signature=SIGNATURE, id="c1"),
            ToolCallPart("c1", "clock", '{"zone":"Oslo"}'),
        ),
    ),
    model(sdk_call("c1", "clock", {"zone": "Oslo"}, signed=True)),
)
TWO_CALLS = (
    ChatMessage(
        "assistant", (ToolCallPart("c1", "clock", "{}"), ToolCallPart("c2", "clock", '{"a":[1]}'))
    ),
    model(sdk_call("c1", "clock", {}), sdk_call("c2", "clock", {"a": [1]})),
)
TWO_RESULTS = (
    ChatMessage(
        "tool", (ToolResultPart("c1", "clock", "one"), ToolResultPart("c2", "clock", "two"))
    ),
    user(sdk_result("c1", "clock", output="one"), sdk_result("c2", "clock", output="two")),
)
INLINE = types.Part.from_bytes(data=PNG, mime_type="image/png")
LINKED = types.Part.from_uri(file_uri="https://example.org/a.jpg", mime_type="image/jpeg")
BY_DATA = ImagePart(
    Media("image/png", url=f"data:image/png;base64,{base64.b64encode(PNG).decode()}")
)
BY_URL = ImagePart(Media("image/jpeg", url="https://example.org/a.jpg"))

ROWS = [
    plain("seed", {"seed": 7}, seed=7),
    plain("top_k", {"top_k": 20}, extras=Extras(top_k=20)),
    plain(
        "penalties",
        {"frequency_penalty": 0.5, "presence_penalty": -0.5},
        to="gemini-2.0-flash",
        extras=Extras(frequency_penalty=0.5, presence_penalty=-0.5),
    ),
    plain(
        "tokens",
        {"response_logprobs": True, "logprobs": 3},
        extras=Extras(top_logprobs=3),
    ),
    plain("JSON mode", {"response_mime_type": "application/json"}, schema=JSON_MODE),
    talk(
        "a document and a sound",
        (
            ChatMessage("user", (TextPart("both"), PAPER, SOUND)),
            user(
                "both",
                types.Part.from_bytes(data=b"%PDF-", mime_type="application/pdf"),
                types.Part.from_bytes(data=b"RIFF", mime_type="audio/wav"),
            ),
        ),
    ),
    plain("one word"),
    plain("one word to a new model", to=NEW),
    talk("text beyond ASCII", (user_text('né "日本" \n\t😀'), user('né "日本" \n\t😀'))),
    talk("history", ASK, (said("noon"), model("noon")), (user_text("sure?"), user("sure?"))),
    talk("two users in a row", ASK, (user_text("hello?"), user("hello?"))),
    talk("two answers in a row", ASK, (said("a"), model("a")), (said("b"), model("b")), ASK),
    talk(
        "several texts in one message",
        (ChatMessage("user", (TextPart("a"), TextPart("b"))), user("a", "b")),
    ),
    Row(
        name="an empty text beside another",
        request=asking(ChatMessage("user", (TextPart(""), TextPart("b")))),
        contents=[user("", "b")],
        differences=("empty text",),
    ),
    Row(
        name="an empty answer in the history",
        request=asking(user_text("a"), said(""), user_text("b")),
        contents=[user("a"), model(""), user("b")],
        differences=("empty text",),
    ),
    plain("one system block", {"system_instruction": "be brief"}, system=("be brief",)),
    plain(
        "stacked system blocks",
        {"system_instruction": ["persona", "tools", "policy"]},
        system=("persona", "tools", "policy"),
    ),
    plain(
        "empty system blocks are skipped",
        {"system_instruction": ["persona", "policy"]},
        system=("persona", "", "policy"),
    ),
    plain("all system blocks empty", system=("", "")),
    Row(
        name="a system message in the conversation",
        request=asking(ChatMessage("system", (TextPart("be kind"),)), user_text("hi")),
        contents=[user("hi")],
        config={"system_instruction": "be kind"},
    ),
    plain("output limit", {"max_output_tokens": 77}, max_output_tokens=77),
    plain("temperature zero", {"temperature": 0.0}, temperature=0.0),
    plain("temperature", {"temperature": 1.5}, temperature=1.5),
    plain("top p", {"top_p": 0.25}, top_p=0.25),
    plain("stop sequences", {"stop_sequences": ["END", "\n\n"]}, stop=("END", "\n\n")),
    plain(
        "all sampling at once",
        {"max_output_tokens": 5, "temperature": 0.5, "top_p": 0.9, "stop_sequences": ["x"]},
        max_output_tokens=5,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
    ),
    plain("a tool", {"tools": sdk_tools(clock=CLOCK_SCHEMA)}, tools=specs(clock=CLOCK_SCHEMA)),
    plain(
        "a tool without parameters",
        {"tools": sdk_tools(now=PLAIN_SCHEMA)},
        tools=specs(now=PLAIN_SCHEMA),
    ),
    plain(
        "two tools",
        {"tools": sdk_tools(clock=CLOCK_SCHEMA, now=PLAIN_SCHEMA)},
        tools=specs(clock=CLOCK_SCHEMA, now=PLAIN_SCHEMA),
    ),
    plain(
        "a deep schema with references",
        {"tools": sdk_tools(deep=DEEP_SCHEMA)},
        tools=specs(deep=DEEP_SCHEMA),
    ),
    Row(
        name="a schema with words beside a reference",
        request=asking(tools=specs(beside=BESIDE_SCHEMA)),
        contents=[user("hi")],
        config={"tools": sdk_tools(beside=BESIDE_SCHEMA)},
        differences=("reference in company",),
    ),
    plain(
        "tools may not be used",
        {"tools": sdk_tools(clock=CLOCK_SCHEMA), "tool_config": calling("NONE")},
        tools=specs(clock=CLOCK_SCHEMA),
        tool_choice=ToolChoice("none"),
    ),
    plain(
        "some tool must be used",
        {"tools": sdk_tools(clock=CLOCK_SCHEMA), "tool_config": calling("ANY")},
        tools=specs(clock=CLOCK_SCHEMA),
        tool_choice=ToolChoice("required"),
    ),
    plain(
        "one tool must be used",
        {
            "tools": sdk_tools(clock=CLOCK_SCHEMA, now=PLAIN_SCHEMA),
            "tool_config": calling("ANY", "now"),
        },
        tools=specs(clock=CLOCK_SCHEMA, now=PLAIN_SCHEMA),
        tool_choice=ToolChoice("required", "now"),
    ),
    plain("a tool choice without tools", tool_choice=ToolChoice("required")),
    talk("a call and its result", ASK, ONE_CALL, ONE_RESULT),
    talk("parallel calls and their results", ASK, TWO_CALLS, TWO_RESULTS),
    Row(
        name="results in messages of their own",
        request=asking(
            ASK[0],
            TWO_CALLS[0],
            ChatMessage("tool", (ToolResultPart("c1", "clock", "one"),)),
            ChatMessage("tool", (ToolResultPart("c2", "clock", "two"),)),
        ),
        contents=[ASK[1], TWO_CALLS[1], TWO_RESULTS[1]],
    ),
    talk(
        "a tool that failed",
        ASK,
        ONE_CALL,
        (
            ChatMessage("tool", (ToolResultPart("c1", "clock", "no such zone", failed=True),)),
            user(sdk_result("c1", "clock", error="no such zone")),
        ),
    ),
    talk(
        "words before a call",
        ASK,
        (
            ChatMessage("assistant", (TextPart("let me see"), ToolCallPart("c1", "clock", "{}"))),
            model("let me see", sdk_call("c1", "clock", {})),
        ),
        ONE_RESULT,
    ),
    talk("two steps", ASK, ONE_CALL, ONE_RESULT, ONE_CALL, ONE_RESULT),
    talk("a signed call to a new model", ASK, SIGNED_CALL, ONE_RESULT, to=NEW),
    talk("a signed call to an old model", ASK, SIGNED_CALL, ONE_RESULT),
    Row(
        name="a call of another service, to a new model",
        request=asking(ASK[0], ONE_CALL[0], ONE_RESULT[0], to=NEW),
        contents=[ASK[1], ONE_CALL[1], ONE_RESULT[1]],
        differences=("foreign signature",),
    ),
    talk(
        "a thought with its signature",
        ASK,
        (
            ChatMessage(
                "assistant",
                (ReasoningPart("hmm", "gemini", signature=SIGNATURE), TextPart("noon")),
            ),
            model(types.Part(text="hmm", thought=True, thought_signature=SIGNED), "noon"),
        ),
        (user_text("sure?"), user("sure?")),
        to=NEW,
    ),
    talk(
        "a signed text",
        ASK,
        (
            ChatMessage(
                "assistant",
                (
                    TextPart("no"),
                    ReasoningPart("", "gemini", signature=SIGNATURE, id="next"),
                    TextPart("on"),
                ),
            ),
            model("no", types.Part(text="on", thought_signature=SIGNED)),
        ),
        (user_text("sure?"), user("sure?")),
        to=NEW,
    ),
    talk(
        "a signature alone",
        ASK,
        (
            ChatMessage(
                "assistant",
                (
                    TextPart("noon"),
                    ReasoningPart("", "gemini", signature=SIGNATURE, id="alone"),
                ),
            ),
            model("noon", types.Part(text="", thought_signature=SIGNED)),
        ),
        (user_text("sure?"), user("sure?")),
        to=NEW,
    ),
    talk(
        "thoughts of another service stay away",
        ASK,
        (
            ChatMessage(
                "assistant",
                (ReasoningPart("hmm", "anthropic", signature="c2ln"), TextPart("noon")),
            ),
            model("noon"),
        ),
        (user_text("sure?"), user("sure?")),
    ),
    talk("an image by bytes", (ChatMessage("user", (BY_DATA, TextPart("?"))), user(INLINE, "?"))),
    talk("an image by address", (ChatMessage("user", (TextPart("?"), BY_URL)), user("?", LINKED))),
    talk("two images", (ChatMessage("user", (BY_DATA, BY_URL)), user(INLINE, LINKED))),
    plain(
        "an answer by schema",
        {"response_mime_type": "application/json", "response_json_schema": CLOCK_SCHEMA},
        schema=schema_of(CLOCK_SCHEMA),
    ),
    plain(
        "an answer by a deep schema",
        {"response_mime_type": "application/json", "response_json_schema": DEEP_SCHEMA},
        schema=schema_of(DEEP_SCHEMA),
    ),
    plain(
        "effort for a new model",
        {"thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_level="HIGH")},
        to=NEW,
        reasoning="high",
    ),
    plain(
        "effort for an old model",
        {"thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=1024)},
        reasoning="low",
    ),
    plain(
        "a budget for thinking",
        {"thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=2000)},
        reasoning=2000,
    ),
    plain("no thinking", {"thinking_config": types.ThinkingConfig(thinking_budget=0)}, reasoning=0),
    Row(
        name="everything at once",
        request=asking(
            ChatMessage("user", (BY_DATA, TextPart("what time?"))),
            SIGNED_CALL[0],
            ONE_RESULT[0],
            to=NEW,
            system=("persona", "policy"),
            tools=specs(clock=CLOCK_SCHEMA),
            tool_choice=ToolChoice("required", "clock"),
            max_output_tokens=100,
            temperature=0.2,
            reasoning="low",
            schema=schema_of(CLOCK_SCHEMA),
        ),
        contents=[user(INLINE, "what time?"), SIGNED_CALL[1], ONE_RESULT[1]],
        config={
            "system_instruction": ["persona", "policy"],
            "tools": sdk_tools(clock=CLOCK_SCHEMA),
            "tool_config": calling("ANY", "clock"),
            "max_output_tokens": 100,
            "temperature": 0.2,
            "thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_level="LOW"),
            "response_mime_type": "application/json",
            "response_json_schema": CLOCK_SCHEMA,
        },
    ),
]


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def sdk_client(base_url: str, key: str | None) -> genai.Client:
    options = types.HttpOptions(base_url=base_url, api_version="v1beta", timeout=10_000)
    return genai.Client(api_key=key, vertexai=False, http_options=options)


async def by_sdk(server: GeminiServer, row: Row) -> GeminiCall:
    def run() -> None:
        with sdk_client(server.base_url, server.key) as sdk:
            stream = sdk.models.generate_content_stream(
                model=row.request.model,
                contents=list(row.contents),
                config=types.GenerateContentConfig(
                    **row.config,
                    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
                ),
            )
            for _ in stream:
                pass

    try:
        await asyncio.to_thread(run)
    except genai.errors.ClientError:
        # Where a difference is accepted because the service refuses what the SDK sends.
        assert row.differences
    return server.requests[-1]


async def by_hermes(server: GeminiServer, row: Row, client: HttpClient) -> GeminiCall:
    settings = GeminiSettings(
        name="gemini", model=row.request.model, base_url=server.base_url, api_key=server.key
    )
    events = [event async for event in GeminiProvider(settings, client).stream(row.request)]
    assert isinstance(events[-1], CallEnd)
    return server.requests[-1]


def comparable(body: Body, row: Row) -> Any:
    for _, undo in EVERYWHERE.values():
        body = undo(body)
    for name in row.differences:
        body = WHERE_NAMED[name][1](body)
    return body


@pytest.mark.req("M1", "M3", "M4", "M5", "M6", "M7")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
async def test_hermes_sends_what_the_sdk_sends(row, client):
    async with GeminiServer() as server:
        theirs = await by_sdk(server, row)
        ours = await by_hermes(server, row, client)

    assert comparable(ours.body, row) == comparable(theirs.body, row)
    assert (ours.method, ours.target) == (theirs.method, theirs.target)
    for name in ("x-goog-api-key", "content-type"):
        assert ours.headers[name] == theirs.headers[name]


@pytest.mark.req("M1")
def test_the_table_is_large_and_its_exceptions_are_few():
    used = {name for row in ROWS for name in row.differences}

    assert len(ROWS) >= 40
    assert used == set(WHERE_NAMED)
    assert len(EVERYWHERE) + len(WHERE_NAMED) <= 10


@pytest.mark.req("M1", "P6")
async def test_embeddings_are_asked_for_and_read_as_the_sdk_does(client):
    texts = ("the sea", "das Meer", "海")
    async with GeminiServer() as server:
        settings = GeminiSettings(
            name="gemini", model=OLD, base_url=server.base_url, api_key=server.key
        )

        def run() -> list[list[float]]:
            with sdk_client(server.base_url, server.key) as sdk:
                found = sdk.models.embed_content(model="gemini-embedding-001", contents=list(texts))
            return [list(one.values or ()) for one in found.embeddings or ()]

        theirs = await asyncio.to_thread(run)
        ours = await GeminiProvider(settings, client).embed(texts, model="gemini-embedding-001")
        sdk_request, our_request = server.requests

    assert [list(vector) for vector in ours.vectors] == theirs
    assert our_request.body == sdk_request.body
    assert our_request.target == sdk_request.target
