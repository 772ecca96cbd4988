"""What programs write, as events: Claude Code, Codex, JSON lines and plain text (recorded by hand)."""

import json
import time
from typing import Any

import pytest

from hermes.errors import AdapterError
from hermes.message.reply import Usage
from hermes.ports.adapter import AdapterEnd, AdapterSession, AdapterStatus
from hermes.ports.provider import TextDelta
from hermes.tools.programs.claude import ClaudeDialect
from hermes.tools.programs.codex import CodexDialect
from hermes.tools.programs.dialect import (
    Dialect,
    Heard,
    LinesDialect,
    MissingSession,
    PermissionQuestion,
    ProgramInput,
    ProgramRequest,
    TextDialect,
)

pytestmark = pytest.mark.req("A25")
NEW = ProgramRequest(prompt="hello", session="s1", model="m", folder="/files")
AGAIN = ProgramRequest(
    prompt="hello", session="s1", is_new=False, folder="/files", system="Be brief."
)


def hear(dialect: Dialect, *lines: dict[str, Any]) -> list[Heard]:
    return [one for line in lines for one in dialect.hear(json.dumps(line).encode())]


def text(end: Heard) -> str:
    assert isinstance(end, AdapterEnd)
    return "".join(getattr(part, "text", "") for part in end.parts)


def claude_text(message: str, words: str, **more: Any) -> list[dict[str, Any]]:
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}
    start = {"type": "message_start", "message": {"id": message}}
    return [{"type": "stream_event", "event": event, **more} for event in (start, delta)]


def claude_result(**more: Any) -> dict[str, Any]:
    used = {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 2}
    return {"type": "result", "is_error": False, "usage": used, "total_cost_usd": 0.5, **more}


def test_claude_streams_its_messages_and_says_what_they_took() -> None:
    dialect = ClaudeDialect(NEW)
    helper = claude_text("m9", "for itself", parent_tool_use_id="t1")
    events = hear(
        dialect,
        {"type": "system", "subtype": "init", "session_id": "s1"},
        *claude_text("m1", "I look."),
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read"}]}},
        *helper,
        *claude_text("m2", "Done"),
        *claude_text("m2", "."),
        claude_result(modelUsage={"sonnet": {}}),
    )

    *before, end = events
    assert before == [
        AdapterSession("s1"),
        TextDelta("I look."),
        AdapterStatus("Read"),
        TextDelta("\n\nDone"),
        TextDelta("."),
    ]
    assert isinstance(end, AdapterEnd)
    assert (text(end), end.model) == ("I look.\n\nDone.", "sonnet")
    assert end.usage == Usage(tokens_in=8, tokens_out=2, cached_in=3, cost_usd=0.5)


def test_claude_asks_and_gets_its_own_wish_back_with_a_yes() -> None:
    dialect = ClaudeDialect(NEW)
    wish = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
    (asked,) = hear(dialect, {"type": "control_request", "request_id": "r1", "request": wish})
    assert isinstance(asked, PermissionQuestion)
    yes = json.loads(dialect.answer(asked, allows=True))["response"]
    no = json.loads(dialect.answer(asked, allows=False))["response"]

    assert asked == PermissionQuestion("r1", 'Bash {"command":"ls"}')
    assert yes["response"] == {"behavior": "allow", "updatedInput": {"command": "ls"}}
    assert (no["request_id"], no["response"]["behavior"]) == ("r1", "deny")


def test_claude_is_told_what_we_do_not_do() -> None:
    request = {"type": "control_request", "request_id": "r1", "request": {"subtype": "hook"}}
    (answer,) = hear(ClaudeDialect(NEW), request)

    assert isinstance(answer, ProgramInput)
    assert json.loads(answer.data)["response"]["subtype"] == "error"


@pytest.mark.parametrize(
    ("asked", "turns", "error"),
    [(AGAIN, 1, AdapterError), (NEW, 0, AdapterError)],
)
def test_claude_says_that_it_failed(
    asked: ProgramRequest, turns: int, error: type[AdapterError]
) -> None:
    result = claude_result(is_error=True, num_turns=turns, subtype="error_during_execution")
    with pytest.raises(error, match="Claude Code failed: error_during_execution"):
        hear(ClaudeDialect(asked), result)


def test_claude_without_its_session_has_done_nothing() -> None:
    result = claude_result(is_error=True, num_turns=0, subtype="error_during_execution")

    assert hear(ClaudeDialect(AGAIN), result) == [MissingSession()]


def begun_codex(asked: ProgramRequest = NEW) -> tuple[CodexDialect, list[Heard]]:
    dialect = CodexDialect(asked)
    thread = {"thread": {"id": "t1"}, "model": "gpt"}
    return dialect, hear(
        dialect,
        {"id": 1, "result": {}},
        {"id": 2, "result": thread},
        {"id": 3, "result": {"turn": {"id": "u1"}}},
    )


def lines_of(event: Heard) -> list[dict[str, Any]]:
    assert isinstance(event, ProgramInput)
    return [json.loads(line) for line in event.data.splitlines()]


def test_codex_keeps_its_session_before_it_is_asked_anything() -> None:
    dialect, (hello, session, ask) = begun_codex()

    assert json.loads(dialect.opening())["method"] == "initialize"
    assert [line["method"] for line in lines_of(hello)] == ["initialized", "thread/start"]
    assert lines_of(hello)[1]["params"]["approvalPolicy"] == "untrusted"
    assert session == AdapterSession("t1")
    assert lines_of(ask)[0]["params"]["input"] == [{"type": "text", "text": "hello"}]


def test_codex_resumes_its_session() -> None:
    _, (hello, *_) = begun_codex(AGAIN)
    resumed = lines_of(hello)[1]

    assert resumed["method"] == "thread/resume"
    assert resumed["params"]["threadId"] == "s1"
    assert resumed["params"]["developerInstructions"] == "Be brief."


def test_codex_says_that_it_has_no_such_session() -> None:
    refused = {"id": 2, "error": {"message": "no rollout found"}}

    assert hear(CodexDialect(AGAIN), refused) == [MissingSession()]
    with pytest.raises(AdapterError, match="Codex failed: no rollout found"):
        hear(CodexDialect(NEW), refused)


def codex(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params}


def test_codex_streams_its_messages_and_counts_its_own_turn() -> None:
    dialect, _ = begun_codex()
    used = {"last": {"inputTokens": 5, "outputTokens": 2, "cachedInputTokens": 1}}
    events = hear(
        dialect,
        codex("thread/tokenUsage/updated", turnId="earlier", tokenUsage=used),
        codex("item/agentMessage/delta", itemId="a", delta="I look."),
        codex("item/started", item={"type": "commandExecution"}),
        codex("item/agentMessage/delta", itemId="b", delta="Done."),
        codex("thread/tokenUsage/updated", turnId="u1", tokenUsage=used),
        codex("turn/completed", turn={"status": "completed"}),
    )

    *before, end = events
    assert before == [
        TextDelta("I look."),
        AdapterStatus("commandExecution"),
        TextDelta("\n\nDone."),
    ]
    assert isinstance(end, AdapterEnd)
    assert (text(end), end.model) == ("I look.\n\nDone.", "gpt")
    assert end.usage == Usage(tokens_in=5, tokens_out=2, cached_in=1)


def test_codex_asks_before_commands_and_changes() -> None:
    dialect, _ = begun_codex()
    change = {"type": "fileChange", "id": "c1", "changes": [{"path": "a.py", "diff": "+x"}]}
    asked = hear(
        dialect,
        codex("item/started", item=change),
        {"id": 0, **codex("item/commandExecution/requestApproval", command="ls")},
        {"id": 1, **codex("item/fileChange/requestApproval", itemId="c1")},
        {"id": 2, **codex("item/tool/requestUserInput")},
    )

    assert asked[:2] == [PermissionQuestion(0, "ls"), PermissionQuestion(1, "change a.py\n+x")]
    assert lines_of(asked[2])[0]["error"]["code"] == -32601
    assert json.loads(dialect.answer(PermissionQuestion(0, ""), allows=True)) == {
        "id": 0,
        "result": {"decision": "accept"},
    }


def test_codex_says_why_it_failed() -> None:
    dialect, _ = begun_codex()
    failed = {"status": "failed", "error": {"message": "no model"}}
    with pytest.raises(AdapterError, match="Codex failed: no model"):
        hear(dialect, codex("turn/completed", turn=failed))


def test_plain_text_is_the_answer_if_the_program_ends_well() -> None:
    dialect = TextDialect(NEW)
    halves = "é".encode()

    assert dialect.opening() == b"hello"
    assert [*dialect.hear(b"caf" + halves[:1]), *dialect.hear(halves[1:])] == [
        TextDelta("caf"),
        TextDelta("é"),
    ]
    assert dialect.ended(1) is None
    end = dialect.ended(0)
    assert end is not None
    assert text(end) == "café"


@pytest.mark.parametrize("make", [ClaudeDialect, CodexDialect, LinesDialect])
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"no json",
        b"[1]",
        b"{",
        b"[" * 5_000,
        b'{"type": 1, "method": [], "id": {}}',
        b'{"type": "stream_event", "event": 5}',
        b'{"type": "assistant", "message": {"content": [1, {"type": "tool_use", "name": 3}]}}',
        b'{"method": "thread/tokenUsage/updated", "params": {"tokenUsage": {"last": 3}}}',
        b'{"text": 1, "session": {}, "ask": null, "end": "yes"}',
    ],
)
def test_what_makes_no_sense_is_passed_over(make: type[LinesDialect], line: bytes) -> None:
    heard = make(NEW).hear(line)

    assert all(isinstance(one, AdapterStatus) for one in heard)


def test_numbers_are_not_believed() -> None:
    used = {"tokens_in": -5, "tokens_out": True, "cached_in": "9", "cost_usd": -1}
    (end,) = hear(LinesDialect(NEW), {"end": True, "usage": used})

    assert isinstance(end, AdapterEnd)
    assert end.usage == Usage()


LONG = "echo " + "a" * 3_000 + "; rm -rf work"


@pytest.mark.parametrize(
    ("dialect", "request_"),
    [
        (LinesDialect(NEW), {"ask": LONG, "id": 1}),
        (
            CodexDialect(NEW),
            {"id": 1, **codex("item/commandExecution/requestApproval", command=LONG)},
        ),
        (CodexDialect(NEW), {"id": 1, **codex("item/commandExecution/requestApproval")}),
        (CodexDialect(NEW), {"id": 1, **codex("item/fileChange/requestApproval", itemId="x")}),
        (
            ClaudeDialect(NEW),
            {
                "type": "control_request",
                "request_id": "r1",
                "request": {
                    "subtype": "can_use_tool",
                    "tool_name": "Bash",
                    "input": {"command": LONG},
                },
            },
        ),
    ],
)
def test_a_command_that_cannot_be_shown_whole_is_not_asked_for(
    dialect: Dialect, request_: dict[str, Any]
) -> None:
    (answer,) = hear(dialect, request_)

    assert isinstance(answer, ProgramInput)
    assert b"accept" not in answer.data
    assert b'"allow"' not in answer.data
    assert b"true" not in answer.data


def test_a_question_hides_nothing() -> None:
    wish = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"content": "x" * 5_000}}
    (lines,) = hear(LinesDialect(NEW), {"ask": "ls \u202e\x1b[2K\nsecond", "id": 1})
    (claude,) = hear(
        ClaudeDialect(NEW), {"type": "control_request", "request_id": "r1", "request": wish}
    )

    assert isinstance(lines, PermissionQuestion)
    assert lines.text == "ls \\u202e\\x1b[2K\nsecond"
    assert isinstance(claude, PermissionQuestion)
    assert claude.text.endswith("… 2,020 more letters")


@pytest.mark.parametrize("session", ["a\0b", "--dangerously-skip-permissions", "x" * 501, "a\nb"])
def test_a_session_that_could_not_be_resumed_is_an_error(session: str) -> None:
    with pytest.raises(AdapterError, match="which cannot be resumed"):
        hear(LinesDialect(NEW), {"session": session})
    with pytest.raises(AdapterError, match="which cannot be resumed"):
        hear(ClaudeDialect(NEW), {"type": "system", "subtype": "init", "session_id": session})


def test_the_model_in_the_ledger_has_a_short_name() -> None:
    (end,) = hear(LinesDialect(NEW), {"end": True, "model": "m\n\x1b[2K" + "x" * 9_000})

    assert isinstance(end, AdapterEnd)
    assert end.model == "m[2K" + "x" * 194


def test_a_long_line_is_an_answer_or_costs_little() -> None:
    tables = b'{"text":"x","a":[' + b'{"b":[]},' * 800_000 + b"{}]}"
    answer = {"type": "result", "is_error": False, "result": "x" * 2_000_000}

    began = time.process_time()
    LinesDialect(NEW).hear(tables)
    took = time.process_time() - began
    (end,) = hear(ClaudeDialect(NEW), answer)

    wish = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"content": "x" * 2_000_000}}
    question = {"type": "control_request", "request_id": "r1", "request": wish}
    (refused,) = hear(ClaudeDialect(NEW), question)

    assert took < 0.06
    assert isinstance(refused, ProgramInput)
    assert json.loads(refused.data)["response"]["request_id"] == "r1"
    assert len(text(end)) == 2_000_000
