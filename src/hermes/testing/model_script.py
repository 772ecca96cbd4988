"""What a scripted model answers: turns written by a test, or directives in the user's own text.

Shared by the in-process twin and the loopback server, so both answer alike. Directives are in the
last user message: `[[tool:NAME {json}]]` (several make parallel calls), `[[slow:SECONDS]]`,
`[[gap:SECONDS]]` (after every delta), `[[deltas:N]]`, `[[reason:TEXT]]`, `[[fail:STATUS]]`,
`[[truncate]]`, `[[cut]]`, `[[hang]]` (these three: `:N` after N deltas). Without any, the answer is
`#N TEXT`: how many user messages the model saw, and the last one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Fault = Literal["status", "truncate", "cut", "hang"]

_DIRECTIVE = re.compile(r"\[\[(slow|gap|deltas|reason|fail|truncate|cut|hang)(?::([^\]]*))?\]\]")
_TOOL = re.compile(r"\[\[tool:([A-Za-z0-9_-]+)\s*(\{.*?\})?\]\]", re.DOTALL)


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call that the scripted model makes; `arguments` is raw JSON text."""

    name: str
    arguments: str = "{}"


class ScriptedTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: after `delay_s` it streams `text` in `deltas` pieces, `gap_s` apart.

    `fault` spoils it: "status" answers `status` instead; after `after` pieces "truncate" ends the
    stream without its end marker, "cut" breaks the connection, "hang" sends nothing more. With
    `rest_s` the answer says that its service takes no more calls for so long.
    """

    text: str = ""
    deltas: int = 1
    reasoning: str = ""
    tools: tuple[ToolUse, ...] = ()
    delay_s: float = 0.0
    gap_s: float = 0.0
    fault: Fault | None = None
    status: int = 503
    retry_after: float | None = None
    after: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached_in: int = 0
    reasoning_out: int = 0
    rest_s: float = 0.0

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text as it is streamed."""
        return split(self.text, self.deltas)


class SeenConversation(msgspec.Struct, frozen=True):
    """What the script may use: the conversation as the model received it."""

    user_messages: int
    last_text: str
    tool_results: tuple[str, ...] = ()


Script = Callable[[SeenConversation, int], ScriptedTurn]


def split(text: str, count: int) -> tuple[str, ...]:
    """Return `text` in at most `count` pieces that are not empty."""
    if count <= 1:
        return (text,) if text else ()
    size, extra = divmod(len(text), count)
    pieces = []
    start = 0
    for index in range(count):
        end = start + size + (index < extra)
        if end > start:
            pieces.append(text[start:end])
        start = end
    return tuple(pieces)


def answer_by_text(seen: SeenConversation, _number: int = 0) -> ScriptedTurn:
    """Return the answer that the directives in the last user message ask for."""
    text = seen.last_text
    if "[[" not in text:
        return ScriptedTurn(text=_echo(seen))
    told: dict[str, str] = dict(_DIRECTIVE.findall(text))
    tools = tuple(ToolUse(name, arguments or "{}") for name, arguments in _TOOL.findall(text))
    calling = bool(tools) and not seen.tool_results
    return ScriptedTurn(
        text="" if calling else _padded(_echo(seen), int(told.get("deltas") or 1)),
        deltas=int(told.get("deltas") or 1),
        reasoning=told.get("reason", ""),
        tools=tools if calling else (),
        delay_s=float(told.get("slow") or 0),
        gap_s=float(told.get("gap") or 0),
        fault=_fault(told),
        status=int(told.get("fail") or 503),
        after=int(told.get("truncate") or told.get("cut") or told.get("hang") or 0),
    )


def in_order(turns: Sequence[ScriptedTurn], then: Script = answer_by_text) -> Script:
    """Return a script that gives `turns` in order, and then answers as `then` does."""
    fixed = tuple(turns)

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        return fixed[number - 1] if number <= len(fixed) else then(seen, number)

    return script


def _echo(seen: SeenConversation) -> str:
    reply = f"#{seen.user_messages} {seen.last_text}"
    if seen.tool_results:
        reply += " -> " + " | ".join(seen.tool_results)
    return reply


def _padded(text: str, size: int) -> str:
    """Return `text`, at least `size` characters long, so that this many deltas are not empty."""
    return text if len(text) >= size else text + "." * (size - len(text))


def _fault(told: dict[str, str]) -> Fault | None:
    if "fail" in told:
        return "status"
    faults: tuple[Fault, ...] = ("truncate", "cut", "hang")
    return next((fault for fault in faults if fault in told), None)
