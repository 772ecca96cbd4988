"""A misbehaving MCP server over pipes, in the standard library alone so that it starts at once.

Its tools each do one wrong thing; the first argument makes the whole server odd: `silent` answers
nothing, `picky` ends at the first question it does not know, `thousands` has 5,000 tools in pages
that never end, `nonsense` lists what is no list, `late` answers after a banner and noise.
"""

import json
import os
import subprocess
import sys
import threading
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
TOOLS = ["echo", "huge", "noise", "hang", "die", "flood", "leak", "wrong", "ask", "grow", "odd"]
TOOLS += ["breed", "error", "was_cancelled", "stderr"]
writing = threading.Lock()
cancelled: list[Any] = []
asked: dict[str, Any] = {}


def write(message: dict[str, Any]) -> None:
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def raw(text: str) -> None:
    with writing:
        sys.stdout.write(text)
        sys.stdout.flush()


def text(number: Any, words: str, *, failed: bool = False) -> None:
    content = [{"type": "text", "text": words}]
    write({"id": number, "result": {"content": content, "isError": failed}})


def listed(cursor: str | None) -> dict[str, Any]:
    if MODE == "nonsense":
        return {"tools": "many"}
    names = TOOLS
    if MODE == "thousands":
        start = int(cursor or 0)
        names = [f"t{start + index}" for index in range(500)]
        return {"tools": [tool(name) for name in names], "nextCursor": str(start + 500)}
    return {"tools": [tool(name) for name in names]}


def tool(name: str) -> dict[str, Any]:
    hints = {"readOnlyHint": name == "echo"}
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}


def huge(_number: Any) -> None:
    with writing:
        sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "result": {"x": "')
        piece = "x" * 1_000_000
        for _ in range(100):
            sys.stdout.write(piece)
        sys.stdout.write('"}}\n')
        sys.stdout.flush()


def flood(number: Any) -> None:
    """Say very much at once; the answer comes last."""
    note = {"method": "notifications/message", "params": {"level": "info", "data": "x"}}
    line = json.dumps({"jsonrpc": "2.0", **note}) + "\n"
    progress = {"progressToken": number, "progress": 1}
    told = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    raw((line + told + "\n") * 1_000)
    text(number, "flooded")


def breed(number: Any) -> None:
    child = subprocess.Popen(["sleep", "1000"])
    text(number, f"{os.getpid()} {child.pid}")


def ask(number: Any) -> None:
    asked["q"] = number
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    params = {"message": "Who are you?", "requestedSchema": schema}
    write({"id": "q", "method": "elicitation/create", "params": params})


def grow(number: Any) -> None:
    TOOLS.append(f"grown{len(TOOLS)}")
    write({"method": "notifications/tools/list_changed"})
    text(number, "grown")


DOES: dict[str, Any] = {
    "echo": lambda number: text(number, "hello"),
    "huge": huge,
    "noise": lambda _number: raw("this is no message\n" * 100_000),
    "hang": lambda _number: None,
    "die": lambda _number: os._exit(3),
    "flood": flood,
    "leak": lambda number: text(number, f"the key is {os.environ.get('KEY')}"),  # noqa: TID251
    "wrong": lambda number: write({"id": number, "result": {"content": "no list"}}),
    "ask": ask,
    "grow": grow,
    "odd": lambda number: text(number, "a\x1b[2J\u202eb\U000e0041", failed=True),
    "breed": breed,
    "error": lambda number: write({"id": number, "error": {"code": -32000, "message": "no\x1b!"}}),
    "was_cancelled": lambda number: text(number, json.dumps(cancelled)),
    "stderr": lambda _number: (sys.stderr.write("last words\n"), sys.stderr.flush(), os._exit(7)),
}


def answer(message: dict[str, Any]) -> None:
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "raw\x1b", "version": "1"},
        }
        write({"id": number, "result": result})
    elif method == "tools/list":
        write({"id": number, "result": listed((message.get("params") or {}).get("cursor"))})
    elif method == "tools/call":
        DOES[message["params"]["name"]](number)
    elif method == "notifications/cancelled":
        cancelled.append(message["params"]["requestId"])
    elif number == "q":
        text(asked.pop("q"), json.dumps(message.get("result")))
    elif number is not None:
        if MODE == "picky":
            os._exit(9)
        write({"id": number, "error": {"code": -32601, "message": "unknown"}})


if MODE == "late":
    raw("Welcome!\n" * 50 + "{}\n[]\n\n")
for line in sys.stdin:
    if MODE != "silent":
        answer(json.loads(line))
