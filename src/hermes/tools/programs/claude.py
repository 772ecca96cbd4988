"""The dialect of Claude Code: JSON lines in both directions, with its questions on the same pipe. Pure."""

from collections.abc import Sequence
from typing import Any

from hermes.errors import AdapterError
from hermes.message.reply import Usage
from hermes.ports.adapter import AdapterEnd, AdapterStatus
from hermes.tools.programs.dialect import (
    AnswerPieces,
    Heard,
    MissingSession,
    PermissionQuestion,
    ProgramInput,
    ProgramRequest,
    dollars_at,
    encode,
    is_shown,
    json_object,
    number_at,
    object_at,
    session_of,
    shown,
    text_at,
)

_REFUSED = "The person did not allow it."
_PROBLEM_CHARS = 500
# The person sees the whole of these; of what is written to a file the beginning is enough.
_COMMANDS = frozenset({"Bash"})


class ClaudeDialect:
    """One message for Claude Code."""

    reads_lines = True

    def __init__(self, asked: ProgramRequest) -> None:
        self._asked = asked
        self._answer = AnswerPieces()
        self._message = ""
        # Any: JSON. What it wants to do, by question: it is sent back with a yes.
        self._wishes: dict[str | int, dict[str, Any]] = {}

    def opening(self) -> bytes:
        """Return the message."""
        content = [{"type": "text", "text": self._asked.prompt}]
        said = {"type": "user", "message": {"role": "user", "content": content}}
        return encode(said) + b"\n"

    def hear(self, data: bytes) -> Sequence[Heard]:
        """Return what a line means."""
        line = json_object(data)
        kind = text_at(line, "type")
        if kind == "stream_event":
            return self._streamed(line)
        if kind == "assistant":
            return self._tools(line)
        if kind == "control_request":
            return self._request(line)
        if kind == "result":
            return (MissingSession() if self._is_gone(line) else self._end(line),)
        if kind == "system" and text_at(line, "subtype") == "init":
            session = text_at(line, "session_id")
            return (session_of(session),) if session else ()
        return ()

    def _streamed(self, line: dict[str, Any]) -> Sequence[Heard]:
        if line.get("parent_tool_use_id"):
            # What its helpers say is for itself.
            return ()
        event = object_at(line, "event")
        if text_at(event, "type") == "message_start":
            self._message = text_at(object_at(event, "message"), "id")
        delta = object_at(event, "delta")
        if text_at(delta, "type") != "text_delta" or not text_at(delta, "text"):
            return ()
        return (self._answer.add(text_at(delta, "text"), self._message),)

    def _tools(self, line: dict[str, Any]) -> Sequence[Heard]:
        content = object_at(line, "message").get("content")
        parts = content if isinstance(content, list) else []
        return tuple(
            AdapterStatus(text_at(part, "name")[:200])
            for part in parts
            if isinstance(part, dict) and part.get("type") == "tool_use"
        )

    def _request(self, line: dict[str, Any]) -> Sequence[Heard]:
        name, request = text_at(line, "request_id"), object_at(line, "request")
        if text_at(request, "subtype") != "can_use_tool":
            problem = {"subtype": "error", "request_id": name, "error": "this is not supported"}
            return (ProgramInput(_response(problem)),)
        wish = self._wishes[name] = object_at(request, "input")
        tool = text_at(request, "tool_name")
        words = f"{tool} {encode(wish).decode()}"
        asked = PermissionQuestion(name, shown(words))
        if tool in _COMMANDS and not is_shown(words):
            return (ProgramInput(self.answer(asked, allows=False)),)
        return (asked,)

    def answer(self, asked: PermissionQuestion, *, allows: bool) -> bytes:
        """Return the answer to a question."""
        wish = self._wishes.pop(asked.id, {})
        decided: dict[str, Any] = (
            {"behavior": "allow", "updatedInput": wish}
            if allows
            else {"behavior": "deny", "message": _REFUSED}
        )
        return _response({"subtype": "success", "request_id": asked.id, "response": decided})

    def _is_gone(self, line: dict[str, Any]) -> bool:
        """Return whether it has done nothing, because it has no such session."""
        has_begun = self._asked.is_new or number_at(line, "num_turns") > 0
        return line.get("is_error") is True and not has_begun

    def _end(self, line: dict[str, Any]) -> AdapterEnd:
        if line.get("is_error") is True:
            words = text_at(line, "result") or text_at(line, "subtype") or "it gave no reason"
            raise AdapterError(f"Claude Code failed: {words[:_PROBLEM_CHARS]}")
        if not self._answer.text:
            self._answer.add(text_at(line, "result"))
        models = [*object_at(line, "modelUsage")]
        return self._answer.end(_usage(line), model=models[0] if models else self._asked.model)

    def ended(self, code: int | None) -> AdapterEnd | None:
        """Only its own result is an end."""
        return None


def _usage(line: dict[str, Any]) -> Usage:
    used = object_at(line, "usage")
    cached = number_at(used, "cache_read_input_tokens")
    written = number_at(used, "cache_creation_input_tokens")
    return Usage(
        tokens_in=number_at(used, "input_tokens") + cached + written,
        tokens_out=number_at(used, "output_tokens"),
        cached_in=cached,
        cost_usd=dollars_at(line, "total_cost_usd"),
    )


def _response(response: dict[str, Any]) -> bytes:
    return encode({"type": "control_response", "response": response}) + b"\n"
