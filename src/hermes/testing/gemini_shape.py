"""The messages of Gemini's generateContent and batchEmbedContents, typed and strict.

Pure: bytes in, a typed request or a refusal out; `gemini_rules` checks which fields fit together.
As in protobuf's JSON, a field may be written in lowerCamelCase or snake_case; an unknown one is
refused.
"""

import re
from typing import Any, Literal

import msgspec

# Any: JSON values in the caller's own shape.
Json = dict[str, Any]

_SNAKE = re.compile(r"_([a-z])")
# Fields whose value is the caller's own JSON.
_OPAQUE = frozenset({"args", "response", "parametersJsonSchema", "responseJsonSchema"})


class ShapeError(Exception):
    """The request would be refused with 400 INVALID_ARGUMENT."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A message of the wire."""


class Blob(_Strict):
    mime_type: str
    data: str


class FileData(_Strict):
    file_uri: str
    mime_type: str | None = None


class FunctionCall(_Strict):
    name: str
    id: str | None = None
    args: Json | None = None


class FunctionResponse(_Strict):
    name: str
    response: Json
    id: str | None = None


class Part(_Strict):
    text: str | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought: bool | None = None
    thought_signature: str | None = None


class Content(_Strict):
    parts: list[Part] = []
    role: str | None = None

    @property
    def text(self) -> str:
        """The visible text."""
        return "".join(part.text or "" for part in self.parts if not part.thought)

    @property
    def calls(self) -> list[FunctionCall]:
        """The function calls, in order."""
        return [part.function_call for part in self.parts if part.function_call is not None]

    @property
    def responses(self) -> list[FunctionResponse]:
        """The function responses, in order."""
        return [p.function_response for p in self.parts if p.function_response is not None]


class FunctionDeclaration(_Strict):
    name: str
    description: str = ""
    parameters: Json | None = None
    parameters_json_schema: Json | None = None


class Tool(_Strict):
    function_declarations: list[FunctionDeclaration] = []


class FunctionCallingConfig(_Strict):
    mode: Literal["AUTO", "ANY", "NONE", "VALIDATED"] = "AUTO"
    allowed_function_names: list[str] = []


class ToolConfig(_Strict):
    function_calling_config: FunctionCallingConfig | None = None


class ThinkingConfig(_Strict):
    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"] | None = None


class GenerationConfig(_Strict):
    candidate_count: Literal[1] | None = None
    stop_sequences: list[str] = []
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    response_logprobs: bool | None = None
    logprobs: int | None = None
    response_mime_type: str | None = None
    response_schema: Json | None = None
    response_json_schema: Json | None = None
    thinking_config: ThinkingConfig | None = None


class GenerateRequest(_Strict):
    """The body of a generateContent or streamGenerateContent call."""

    contents: list[Content] = []
    system_instruction: Content | None = None
    tools: list[Tool] = []
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig | None = None
    model: str | None = None

    @property
    def declarations(self) -> list[FunctionDeclaration]:
        """Every declared function."""
        return [one for tool in self.tools for one in tool.function_declarations]


class EmbedRequest(_Strict):
    model: str
    content: Content
    task_type: str | None = None
    output_dimensionality: int | None = None


class BatchEmbedRequest(_Strict):
    """The body of a batchEmbedContents call."""

    requests: list[EmbedRequest] = []


def read_generate(body: bytes) -> GenerateRequest:
    """Return the generateContent request in `body`."""
    try:
        return msgspec.convert(_read(body), GenerateRequest)
    except msgspec.ValidationError as error:
        raise ShapeError(f"Invalid JSON payload received. {error}") from error


def read_embed(body: bytes) -> BatchEmbedRequest:
    """Return the batchEmbedContents request in `body`."""
    try:
        return msgspec.convert(_read(body), BatchEmbedRequest)
    except msgspec.ValidationError as error:
        raise ShapeError(f"Invalid JSON payload received. {error}") from error


def read_json(body: bytes) -> Json:
    """Return the JSON object in `body`."""
    try:
        return msgspec.json.decode(body, type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ShapeError("Invalid JSON payload received. Parser Error") from error


# Any: JSON of any shape.
def camel(node: Any) -> Any:
    """Return `node` with the fields of the wire, and only those, in lowerCamelCase."""
    if isinstance(node, list):
        return [camel(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {}
    for written, value in node.items():
        name = _SNAKE.sub(lambda found: found[1].upper(), written)
        made[name] = value if name in _OPAQUE else camel(value)
    return made


def _read(body: bytes) -> Any:
    return camel(read_json(body))
