"""The dialect of Codex: JSON-RPC with its app server, which asks before it does something. Pure."""

from collections.abc import Sequence
from typing import Any, Final

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
    as_object,
    encode,
    id_at,
    is_shown,
    json_object,
    number_at,
    object_at,
    session_of,
    shown,
    text_at,
)

_HELLO: Final = 1
_THREAD: Final = 2
_TURN: Final = 3
_COMMAND: Final = "item/commandExecution/requestApproval"
_CHANGE: Final = "item/fileChange/requestApproval"
_UNSUPPORTED: Final = -32601
_PROBLEM_CHARS: Final = 500
_MOST_CHANGES: Final = 200
_CHANGE_CHARS: Final = 20_000


class CodexDialect:
    """One message for Codex."""

    reads_lines = True

    def __init__(self, asked: ProgramRequest) -> None:
        self._asked = asked
        self._answer = AnswerPieces()
        self._turn = ""
        self._model = asked.model
        self._usage = Usage()
        # What it is about to change, by the item that its question names.
        self._changes: dict[str, str] = {}

    def opening(self) -> bytes:
        """Return the handshake."""
        about = {"clientInfo": {"name": "hermes", "version": "1"}}
        return _line(id=_HELLO, method="initialize", params=about)

    def hear(self, data: bytes) -> Sequence[Heard]:
        """Return what a line means."""
        line = json_object(data)
        method = text_at(line, "method")
        if not method:
            return self._replied(line)
        if "id" in line:
            return self._request(line, method)
        return self._notified(method, object_at(line, "params"))

    def _replied(self, line: dict[str, Any]) -> Sequence[Heard]:
        """Go on after a reply to a request of ours."""
        number, result = line.get("id"), object_at(line, "result")
        if problem := object_at(line, "error"):
            if number == _THREAD and not self._asked.is_new:
                return (MissingSession(),)
            raise AdapterError(f"Codex failed: {text_at(problem, 'message')[:_PROBLEM_CHARS]}")
        if number == _HELLO:
            return (ProgramInput(_line(method="initialized") + self._thread()),)
        if number == _THREAD:
            thread = text_at(object_at(result, "thread"), "id")
            self._model = text_at(result, "model") or self._model
            return (session_of(thread), ProgramInput(self._ask(thread)))
        if number == _TURN:
            self._turn = text_at(object_at(result, "turn"), "id")
        return ()

    def _thread(self) -> bytes:
        asked = self._asked
        params: dict[str, Any] = {
            # The sandbox is around it; what it wants to do is asked for all the same.
            "approvalPolicy": "untrusted",
            "sandbox": "danger-full-access",
            "cwd": asked.folder,
        }
        if asked.model:
            params["model"] = asked.model
        if asked.system:
            params["developerInstructions"] = asked.system
        if asked.is_new:
            return _line(id=_THREAD, method="thread/start", params=params)
        params |= {"threadId": asked.session, "excludeTurns": True}
        return _line(id=_THREAD, method="thread/resume", params=params)

    def _ask(self, thread: str) -> bytes:
        said = [{"type": "text", "text": self._asked.prompt}]
        return _line(id=_TURN, method="turn/start", params={"threadId": thread, "input": said})

    def _request(self, line: dict[str, Any], method: str) -> Sequence[Heard]:
        number, params = id_at(line), object_at(line, "params")
        if method == _COMMAND:
            command = text_at(params, "command")
            asked = PermissionQuestion(number, shown(command))
            # Nobody allows what they have not seen.
            can_ask = command and is_shown(command)
            return (asked if can_ask else ProgramInput(self.answer(asked, allows=False)),)
        if method == _CHANGE:
            files = self._changes.get(text_at(params, "itemId"), "")
            words = f"change {files} {text_at(params, 'reason')}".strip()
            asked = PermissionQuestion(number, shown(words))
            return (asked if files else ProgramInput(self.answer(asked, allows=False)),)
        refused = {"code": _UNSUPPORTED, "message": "this is not supported"}
        return (ProgramInput(_line(id=number, error=refused)),)

    def answer(self, asked: PermissionQuestion, *, allows: bool) -> bytes:
        """Return the answer to a question."""
        return _line(id=asked.id, result={"decision": "accept" if allows else "decline"})

    def _notified(self, method: str, params: dict[str, Any]) -> Sequence[Heard]:
        if method == "item/agentMessage/delta":
            text = text_at(params, "delta")
            return (self._answer.add(text, text_at(params, "itemId")),) if text else ()
        if method == "item/started":
            return self._begun(object_at(params, "item"))
        if method == "thread/tokenUsage/updated" and text_at(params, "turnId") == self._turn:
            self._usage = self._usage.plus(_usage(object_at(params, "tokenUsage", "last")))
        if method == "turn/completed":
            return (self._end(object_at(params, "turn")),)
        return ()

    def _begun(self, item: dict[str, Any]) -> Sequence[Heard]:
        """Note what it is about to do."""
        kind, changes = text_at(item, "type"), item.get("changes")
        if (
            kind == "fileChange"
            and isinstance(changes, list)
            and len(self._changes) < _MOST_CHANGES
        ):
            named = [
                f"{text_at(one, 'path')}\n{text_at(one, 'diff')}" for one in map(as_object, changes)
            ]
            self._changes[text_at(item, "id")] = "\n".join(named)[:_CHANGE_CHARS]
        return (AdapterStatus(kind[:200]),) if kind.endswith("Execution") else ()

    def _end(self, turn: dict[str, Any]) -> AdapterEnd:
        if text_at(turn, "status") != "completed":
            words = text_at(object_at(turn, "error"), "message") or text_at(turn, "status")
            raise AdapterError(f"Codex failed: {words[:_PROBLEM_CHARS]}")
        return self._answer.end(self._usage, model=self._model)

    def ended(self, code: int | None) -> AdapterEnd | None:
        """Only its own word is an end."""
        return None


def _usage(used: dict[str, Any]) -> Usage:
    return Usage(
        tokens_in=number_at(used, "inputTokens"),
        tokens_out=number_at(used, "outputTokens"),
        cached_in=number_at(used, "cachedInputTokens"),
        reasoning_out=number_at(used, "reasoningOutputTokens"),
    )


def _line(**message: object) -> bytes:
    return encode(message) + b"\n"
