"""Converts the tools of a Responses request to functions that every model accepts, and back.

Freeform tools, the client's shell, its tool search and its namespaces exist on this wire only. Each
becomes a plain function for the model; a `FunctionShape` remembers the form that the client
expects. Tools that OpenAI runs itself cannot run here.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes.errors import BadRequest
from hermes.ports.provider import ToolChoice, ToolSpec
from hermes.server.v1.responses_shape import (
    MAX_QUOTE,
    MAX_TOOLS,
    Choice,
    CustomTool,
    FunctionTool,
    Grammar,
    Namespace,
    SearchTool,
    ToolHead,
    decode_at,
)
from hermes.server.v1.wire_body import checked_object, is_given

SHELL = "local_shell"
SEARCH = "tool_search"
_MAX_NAME = 64
_MARK = 8
_NOTHING = msgspec.Raw(b'{"type":"object","properties":{}}')
_ONE_TEXT = msgspec.Raw(
    b'{"type":"object","properties":{"input":{"type":"string","description":"The whole input of'
    b' the tool, as plain text."}},"required":["input"],"additionalProperties":false}'
)
_COMMAND = msgspec.Raw(
    b'{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},'
    b'"description":"The program and its arguments."},"working_directory":{"type":"string"},'
    b'"timeout_ms":{"type":"integer"},"env":{"type":"object","additionalProperties":'
    b'{"type":"string"}}},"required":["command"],"additionalProperties":false}'
)
_SHELL_WORDS = "Runs a command in the user's shell and returns its output."
_SEARCH_WORDS = "Searches for more tools; the tools that it finds can be called afterwards."
# Codex always adds these, whatever the model; it works as well without them.
_ADDED_BY_CODEX = frozenset({"web_search", "image_generation"})
_HEAD = msgspec.json.Decoder(ToolHead).decode
_FUNCTION = msgspec.json.Decoder(FunctionTool).decode
_CUSTOM = msgspec.json.Decoder(CustomTool).decode
_NAMESPACE = msgspec.json.Decoder(Namespace).decode
_SEARCH = msgspec.json.Decoder(SearchTool).decode


class FunctionShape(msgspec.Struct, frozen=True):
    """The form of a function on this wire."""

    kind: Literal["function", "custom", "local_shell", "tool_search"]
    name: str
    namespace: str | None = None


def flat_name(name: str, namespace: str | None = None) -> str:
    """Return the flat name of a tool of a namespace; it is always the same."""
    if not namespace:
        return name
    full = namespace + name if namespace.endswith("__") else f"{namespace}__{name}"
    if len(full) <= _MAX_NAME:
        return full
    mark = hashlib.sha256(full.encode()).hexdigest()[:_MARK]
    return f"{full[: _MAX_NAME - _MARK - 1]}_{mark}"


class Toolbox:
    """The tools of one request by the names that the model sees, in order."""

    def __init__(self, *, by_codex: bool) -> None:
        self._by_codex = by_codex
        self.specs: dict[str, ToolSpec] = {}
        self.shapes: dict[str, FunctionShape] = {}
        # A dict for its order: each name once.
        self.ignored: dict[str, None] = {}

    def add(self, raw: msgspec.Raw, where: str, *, again: bool = False) -> None:
        """Add one tool; with `again`, a tool found a second time replaces the first."""
        head = decode_at(_HEAD, raw, where=where)
        if head.type == "namespace":
            self._add_namespace(decode_at(_NAMESPACE, raw, where=where), where, again=again)
        elif head.type in {"function", "custom"}:
            self._add_named(raw, where, kind=head.type, again=again)
        elif head.type == SHELL:
            shell = ToolSpec(SHELL, _SHELL_WORDS, _COMMAND)
            self._put(shell, FunctionShape("local_shell", SHELL), where=where, again=again)
        elif head.type == SEARCH:
            self._add_search(decode_at(_SEARCH, raw, where=where), where, again=again)
        elif head.type in _ADDED_BY_CODEX and (
            self._by_codex or head.external_web_access is not None
        ):
            self.ignored[f"tools.{head.type}"] = None
        else:
            raise BadRequest(
                f"{where}: tools of the type {head.type[:MAX_QUOTE]!r} run at OpenAI and cannot"
                " run here; leave it out, or send a tool of the type 'function' that you run"
                " yourself."
            )

    def _add_namespace(self, space: Namespace, where: str, *, again: bool) -> None:
        words = space.description
        for place, raw in enumerate(space.tools):
            inner = f"{where}.tools[{place}]"
            kind = decode_at(_HEAD, raw, where=inner).type
            if kind not in {"function", "custom"}:
                raise BadRequest(
                    f"{inner}: a namespace holds tools of the types 'function' and 'custom', not"
                    f" {kind[:MAX_QUOTE]!r}; move it out of the namespace."
                )
            self._add_named(
                raw, inner, kind=kind, again=again, namespace=space.name, words=words or ""
            )
            # Once is enough: the text is about the namespace, not about each of its tools.
            words = None

    def _add_named(
        self,
        raw: msgspec.Raw,
        where: str,
        *,
        kind: str,
        again: bool,
        namespace: str | None = None,
        words: str = "",
    ) -> None:
        if kind == "custom":
            custom = decode_at(_CUSTOM, raw, where=where)
            said = _joined(words, custom.description, _grammar(custom.format))
            spec = ToolSpec(flat_name(custom.name, namespace), said, _ONE_TEXT)
            self._put(
                spec, FunctionShape("custom", custom.name, namespace), where=where, again=again
            )
            return
        function = decode_at(_FUNCTION, raw, where=where)
        said = _joined(words, function.description)
        parameters = _parameters(function.parameters, where)
        name, strict = flat_name(function.name, namespace), function.strict is True
        spec = ToolSpec(name, said, parameters, strict)
        self._put(
            spec, FunctionShape("function", function.name, namespace), where=where, again=again
        )

    def _add_search(self, search: SearchTool, where: str, *, again: bool) -> None:
        if search.execution != "client":
            raise BadRequest(
                f"{where}: a search for tools runs at OpenAI and cannot run here; set its"
                " `execution` to 'client' and run it yourself, or send all tools."
            )
        parameters = _parameters(search.parameters, where)
        spec = ToolSpec(SEARCH, search.description or _SEARCH_WORDS, parameters)
        self._put(spec, FunctionShape("tool_search", SEARCH), where=where, again=again)

    def _put(self, spec: ToolSpec, shape: FunctionShape, *, where: str, again: bool) -> None:
        if spec.name in self.specs and not again:
            raise BadRequest(
                f"{where}: another tool is also named {spec.name[:MAX_QUOTE]!r}; give every tool"
                " a name of its own."
            )
        self.specs[spec.name] = spec
        self.shapes[spec.name] = shape
        if len(self.specs) > MAX_TOOLS:
            raise BadRequest(
                f"{where}: this is tool number {len(self.specs)}; at most {MAX_TOOLS} can be"
                " offered to a model. Leave out what the conversation does not need."
            )


def _parameters(raw: msgspec.Raw, where: str) -> msgspec.Raw:
    return checked_object(raw, f"{where}.parameters") if is_given(raw) else _NOTHING


def _joined(*words: str | None) -> str:
    return "\n\n".join(word for word in words if word)


def _grammar(wanted: Grammar | None) -> str:
    if wanted is None or wanted.type == "text" or not wanted.definition:
        return ""
    return f"The input must fit this {wanted.syntax or ''} grammar:\n{wanted.definition}"


def choose(choice: str | Choice | None, tools: Toolbox) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
    """Return whether and which tools must be used, and which may be."""
    offered = tuple(tools.specs.values())
    if choice is None or choice == "auto":
        return ToolChoice(), offered
    if choice == "none":
        return ToolChoice("none"), offered
    if not offered:
        raise BadRequest(
            "tool_choice asks for a tool, and there is none that can run here; send it in"
            " `tools`, or set tool_choice to 'auto'."
        )
    if isinstance(choice, str):
        return ToolChoice("required"), offered
    if choice.type == "allowed_tools":
        allowed = {_named(one.type, one.name, tools=tools) for one in choice.tools or ()}
        kept = tuple(spec for spec in offered if spec.name in allowed)
        if not kept:
            raise BadRequest("tool_choice.tools is empty: name the tools that are allowed.")
        return ToolChoice("required" if choice.mode == "required" else "auto"), kept
    return ToolChoice("required", _named(choice.type, choice.name, tools=tools)), offered


def _named(kind: str, name: str | None, *, tools: Toolbox) -> str:
    """Return the name that the model sees for the chosen tool."""
    shapes: Mapping[str, FunctionShape] = tools.shapes
    wanted = name or kind
    for seen, shape in shapes.items():
        if shape.kind == kind and wanted in {shape.name, seen}:
            return seen
    raise BadRequest(
        f"tool_choice asks for {wanted[:MAX_QUOTE]!r} of the type {kind[:MAX_QUOTE]!r}, which is"
        " not among the tools that can run here; send it in `tools`, or choose another tool."
    )
