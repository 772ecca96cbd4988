"""A loopback server that implements Anthropic Messages strictly and answers by script."""

import asyncio

import msgspec

from hermes.testing import anthropic_frames as frames
from hermes.testing.anthropic_shape import (
    MessagesRequest,
    ShapeError,
    User,
    read_request,
    results_of,
    text_of,
)
from hermes.testing.model_script import Script, SeenConversation, answer_by_text
from hermes.testing.scripted_http import ReceivedRequest, Sleep
from hermes.testing.turn_server import TurnFrames, TurnServer

Headers = dict[str, str]

_PATH = "/v1/messages"
_VERSIONS = frozenset({"2023-01-01", "2023-06-01", "2026-10-21"})
_OAUTH_BETA = "oauth-2025-04-20"


class Refusal(Exception):
    """The head of a request would be refused with `status`."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Invocation(msgspec.Struct, frozen=True):
    """One call that reached the model; `body` is what was sent, byte for byte."""

    number: int
    request: MessagesRequest
    headers: Headers
    body: bytes


def seen_in(request: MessagesRequest) -> SeenConversation:
    """Return what a script may use of `request`."""
    users = [message for message in request.messages if isinstance(message, User)]
    asking = [message for message in users if len(results_of(message)) < len(message.content)]
    results = tuple(
        result.content if isinstance(result.content, str) else text_of(result.content)
        for result in results_of(users[-1])
    )
    return SeenConversation(len(asking), text_of(asking[-1].content) if asking else "", results)


class AnthropicServer(TurnServer):
    """The server; used in a test as `async with AnthropicServer() as server`.

    With a `key` only that credential is accepted, without one any.
    """

    error = staticmethod(frames.error)

    def __init__(
        self,
        script: Script = answer_by_text,
        *,
        key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(script, key=key, sleep=sleep)
        self.invocations: list[Invocation] = []

    def read(self, call: ReceivedRequest) -> TurnFrames | bytes:
        """Return what is to be played for a request, or its refusal."""
        try:
            request = self._request(call)
        except Refusal as refusal:
            return frames.error(refusal.status, str(refusal))
        except ShapeError as error:
            return frames.error(400, str(error))
        answer = self.invoke(request, call.headers, body=call.body)
        if answer.turn.fault == "status":
            return TurnFrames(answer.turn, frames.scripted_error(answer.turn))
        if not request.stream:
            return TurnFrames(answer.turn, frames.completion(answer))
        parts = (frames.opening(answer), frames.text(answer), frames.closing(answer))
        return TurnFrames(answer.turn, b"", *parts)

    def _request(self, call: ReceivedRequest) -> MessagesRequest:
        if call.path.partition("?")[0] != _PATH:
            raise Refusal(404, "Not found")
        if call.method != "POST":
            raise Refusal(405, "Method Not Allowed")
        self.check_head(call.headers)
        if call.is_too_long:
            raise Refusal(413, "Request exceeds the maximum allowed number of bytes.")
        return read_request(call.body)

    def check_head(self, headers: Headers) -> None:
        """Raise `Refusal` for a request without the headers that every call needs."""
        version = headers.get("anthropic-version")
        if version is None:
            raise Refusal(400, "anthropic-version: header is required")
        if version not in _VERSIONS:
            raise Refusal(400, f'anthropic-version: "{version}" is not a valid version')
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        shown = headers.get("x-api-key") or bearer
        if not shown:
            raise Refusal(401, "x-api-key header is required")
        if self.key is not None and shown != self.key:
            raise Refusal(401, f"invalid x-api-key: {shown}")
        is_oauth = "x-api-key" not in headers and not bearer.startswith("sk-ant-api")
        if is_oauth and _OAUTH_BETA not in headers.get("anthropic-beta", "").split(","):
            raise Refusal(401, "OAuth authentication is currently not supported.")

    def invoke(self, request: MessagesRequest, headers: Headers, *, body: bytes) -> frames.Answer:
        """Count the call and return its answer."""
        turn = self.next_turn(seen_in(request))
        self.invocations.append(Invocation(self.calls, request, headers, body))
        words = sum(text_of(message.content).count(" ") + 1 for message in request.messages)
        return frames.Answer(
            turn=turn,
            id=f"msg_{self.calls}",
            model=request.model,
            tokens_in=turn.tokens_in if turn.tokens_in is not None else words,
            tools=self.tool_calls(turn, "toolu"),
        )
