"""Anthropic's Messages wire, as its SDKs and Claude Code speak it."""

from collections.abc import Mapping

import msgspec

from hermes.calls.events import FullAnswer
from hermes.calls.token_estimate import input_tokens
from hermes.errors import HermesError
from hermes.ports.channel import HttpResponse
from hermes.server.v1.anthropic_errors import anthropic_refusal
from hermes.server.v1.dialect import Stamp, StreamWriter, WireCall
from hermes.server.v1.messages_in import read_for_counting, read_messages
from hermes.server.v1.messages_out import whole_message
from hermes.server.v1.messages_stream import MessagesStream


class MessagesDialect:
    """`POST /v1/messages`, and the token count next to it."""

    def read(self, body: bytes, headers: Mapping[str, str]) -> WireCall:
        """Return the request in a body; raises `BadRequest`."""
        return read_messages(body, headers)

    def whole(self, call: WireCall, answer: FullAnswer, *, stamp: Stamp) -> bytes:
        """Return the whole answer as JSON."""
        return whole_message(answer, stamp=stamp)

    def stream(self, call: WireCall, *, stamp: Stamp) -> StreamWriter:
        """Return the writer of one streamed answer."""
        return MessagesStream(call, stamp=stamp)

    def refusal(self, error: HermesError) -> HttpResponse:
        """Return an error in the shape that Anthropic's clients expect."""
        return anthropic_refusal(error)

    def count(self, body: bytes) -> bytes:
        """Answer `POST /v1/messages/count_tokens`: an estimate, the same for every model."""
        return msgspec.json.encode({"input_tokens": input_tokens(read_for_counting(body))})
