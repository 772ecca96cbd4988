"""A loopback server that implements OpenAI chat completions strictly and answers by script.

`python -m hermes.testing.model_server --port 0` prints `{"port": N, ...}` and runs until its
standard input closes. It costs little CPU, so that a benchmark measures Hermes and not its model;
with `--count-file` every call that reached the model writes a line that survives a kill.
"""

import argparse
import asyncio
import hashlib
import os
import socket
from pathlib import Path

import msgspec

from hermes.ports.clock import SystemClock
from hermes.testing import openai_frames as frames
from hermes.testing.model_script import (
    Script,
    ScriptedTurn,
    SeenConversation,
    answer_by_text,
    in_order,
)
from hermes.testing.openai_shape import (
    Assistant,
    ChatRequest,
    ShapeError,
    Tool,
    User,
    read_request,
    text_of,
)
from hermes.testing.scripted_http import ReceivedRequest, Sleep
from hermes.testing.turn_server import TurnFrames, TurnServer, serve

_PATH = "/v1/chat/completions"


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """One call that reached the model; `hash` is of the last user text."""

    number: int
    pid: int
    hash: str
    text: str
    users: int
    tool_results: int
    fault: str | None = None


def seen_in(request: ChatRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if isinstance(message, User)]
    results: list[str] = []
    for message in reversed(request.messages):
        if isinstance(message, Tool):
            results.insert(0, text_of(message.content))
        elif not isinstance(message, Assistant):
            break
    return SeenConversation(len(users), text_of(users[-1].content) if users else "", tuple(results))


def text_hash(text: str) -> str:
    """Return the short hash of a user's text in the count file."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _prompt_tokens(request: ChatRequest) -> int:
    """Return the tokens of a prompt, at four characters each."""
    return sum(len(text_of(message.content)) for message in request.messages) // 4


class ModelServer(TurnServer):
    """The server; used in a test as `async with ModelServer() as server`."""

    base_path = "/v1"
    error = staticmethod(frames.error)

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        count_file: Path | None = None,
        sleep: Sleep = asyncio.sleep,
        created: int = 1_700_000_000,
        context_tokens: int | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        super().__init__(script, key=key, sleep=sleep, listener=listener)
        self._count_fd = -1
        if count_file is not None:
            self._count_fd = os.open(count_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._created = created
        self._context_tokens = context_tokens
        self.invocations: list[Invocation] = []

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        await super().close()
        if self._count_fd >= 0:
            os.close(self._count_fd)
            self._count_fd = -1

    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its refusal."""
        refusal = self._refusal(call)
        if refusal is not None:
            return refusal
        try:
            request = read_request(call.body)
        except ShapeError as error:
            return frames.error(400, str(error), param=error.param, code=error.code)
        problem = self.too_long(request)
        if problem is not None:
            return frames.error(400, problem, param="messages", code="context_length_exceeded")
        answer = self.invoke(request)
        if answer.turn.fault == "status":
            return TurnFrames(answer.turn, frames.scripted_error(answer.turn))
        if not request.stream:
            return TurnFrames(answer.turn, frames.completion(answer))
        usage = request.stream_options is not None and request.stream_options.include_usage
        return TurnFrames(
            answer.turn,
            opening=frames.opening(answer, usage=usage),
            text=frames.text(answer, usage=usage),
            closing=frames.closing(answer, usage=usage),
        )

    def _refusal(self, call: ReceivedRequest) -> bytes | None:
        if call.path.partition("?")[0] != _PATH:
            return frames.error(404, f"Invalid URL ({call.path})")
        if call.method != "POST":
            return frames.error(405, "Not allowed to use this method on /v1/chat/completions")
        if self.is_refused(call):
            shown = call.headers.get("authorization", "")
            told = f"Incorrect API key provided: {shown.removeprefix('Bearer ')}."
            return frames.error(401, told, code="invalid_api_key")
        return frames.error(413, "Request too large") if call.is_too_long else None

    def too_long(self, request: ChatRequest) -> str | None:
        """Return the refusal of a prompt that exceeds the context, if it has a limit."""
        held = self._context_tokens
        if held is None or _prompt_tokens(request) <= held:
            return None
        return (
            f"This model's maximum context length is {held} tokens. However, your messages resulted "
            f"in {_prompt_tokens(request)} tokens. Please reduce the length of the messages."
        )

    def invoke(self, request: ChatRequest) -> frames.Answer:
        """Count the call, on disk first, and return its answer."""
        seen = seen_in(request)
        turn = self.next_turn(seen)
        made = Invocation(
            number=self.calls,
            pid=os.getpid(),
            hash=text_hash(seen.last_text),
            text=seen.last_text[:200],
            users=seen.user_messages,
            tool_results=len(seen.tool_results),
            fault=turn.fault,
        )
        if self._count_fd >= 0:
            os.write(self._count_fd, msgspec.json.encode(made) + b"\n")
        self.invocations.append(made)
        words = sum(text_of(message.content).count(" ") + 1 for message in request.messages)
        if self._context_tokens is not None:
            words = _prompt_tokens(request)
        return frames.Answer(
            turn=turn,
            id=f"chatcmpl-{self.calls}",
            model=request.model,
            created=self._created,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            top_logprobs=(request.top_logprobs or 0) if request.logprobs else None,
            tools=self.tool_calls(turn, "call"),
        )


class ScriptFile(msgspec.Struct, frozen=True):
    """The contents of `--script FILE`: turns in order; after them the directives in the text
    decide.
    """

    turns: tuple[ScriptedTurn, ...]


def _script_from(options: argparse.Namespace) -> Script:
    if options.script is not None:
        return in_order(msgspec.json.decode(options.script.read_bytes(), type=ScriptFile).turns)
    delay_s, gap_s = options.delay_ms / 1000, options.gap_ms / 1000
    if options.text is None and not delay_s and not gap_s and options.deltas == 1:
        return answer_by_text

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if "[[" in seen.last_text:
            return answer_by_text(seen, number)
        text = options.text if options.text is not None else answer_by_text(seen, number).text
        text = text.ljust(options.deltas, ".")
        return ScriptedTurn(text=text, deltas=options.deltas, delay_s=delay_s, gap_s=gap_s)

    return script


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--script", type=Path, help='a JSON file: {"turns": [{"text": "..."}]}')
    parser.add_argument("--delay-ms", type=float, default=0, help="wait before every answer")
    parser.add_argument("--gap-ms", type=float, default=0, help="wait after every delta")
    parser.add_argument("--deltas", type=int, default=1, help="number of pieces of a text")
    parser.add_argument("--text", help="the answer to every message without a directive")
    parser.add_argument(
        "--context-tokens", type=int, help="refuse longer prompts, at four characters to a token"
    )
    parser.add_argument("--key", help="the API key that callers must send")
    parser.add_argument(
        "--count-file", type=Path, help="the file to which every call appends a JSON line"
    )
    return parser.parse_args(arguments)


async def run(options: argparse.Namespace) -> None:
    """Run the server until standard input closes."""
    server = ModelServer(
        _script_from(options),
        key=options.key,
        count_file=options.count_file,
        created=int(SystemClock().now()),
        context_tokens=options.context_tokens,
    )
    await serve(server, port=options.port)


def main(arguments: list[str] | None = None) -> None:
    """Run the server with uvloop if it is installed."""
    options = _options(arguments)
    try:
        import uvloop  # noqa: PLC0415 - optional, and only this program wants it
    except ImportError:
        asyncio.run(run(options))
    else:
        uvloop.run(run(options))


if __name__ == "__main__":
    main()
