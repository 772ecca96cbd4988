"""The chat-completions wire, as OpenAI's clients and most others speak it."""

from collections.abc import Mapping

from hermes.calls.events import FullAnswer
from hermes.errors import HermesError
from hermes.ports.channel import HttpResponse
from hermes.server.v1.chat_in import read_chat
from hermes.server.v1.chat_out import ChatStream, write_chat
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.openai_errors import openai_refusal


class ChatDialect:
    """`POST /v1/chat/completions`."""

    def read(self, body: bytes, headers: Mapping[str, str]) -> WireCall:
        """Return the request in a body; raises `BadRequest`."""
        return read_chat(body)

    def whole(self, call: WireCall, answer: FullAnswer, *, stamp: Stamp) -> bytes:
        """Return the whole answer as JSON."""
        return write_chat(answer, stamp=stamp)

    def stream(self, call: WireCall, *, stamp: Stamp) -> ChatStream:
        """Return the writer of one streamed answer."""
        return ChatStream(call, stamp=stamp)

    def refusal(self, error: HermesError) -> HttpResponse:
        """Return an error in OpenAI's shape."""
        return openai_refusal(error)
