"""OpenAI's Responses API as a dialect: what the SDKs, Codex and others send to `/v1/responses`."""

from collections.abc import Mapping

from hermes.calls.events import FullAnswer
from hermes.errors import HermesError
from hermes.ports.channel import HttpResponse
from hermes.server.v1.dialect import Stamp, StreamWriter, WireCall
from hermes.server.v1.openai_errors import openai_refusal
from hermes.server.v1.responses_in import echo_of, read_request
from hermes.server.v1.responses_out import Ids, ResponseWriter, output_items
from hermes.server.v1.responses_stream import ResponsesStream


class ResponsesDialect:
    """Reads requests and writes answers of the Responses wire."""

    def read(self, body: bytes, headers: Mapping[str, str]) -> WireCall:
        """Return the request in a body; raises `BadRequest`."""
        return read_request(body, headers)

    def whole(self, call: WireCall, answer: FullAnswer, *, stamp: Stamp) -> bytes:
        """Return the whole answer as JSON."""
        items = output_items(answer, echo_of(call), ids=Ids(stamp))
        model = answer.end.model or answer.candidate.model
        return ResponseWriter(call, stamp, model=model).ended(answer, items)

    def stream(self, call: WireCall, *, stamp: Stamp) -> StreamWriter:
        """Return the writer of one streamed answer."""
        return ResponsesStream(call, stamp)

    def refusal(self, error: HermesError) -> HttpResponse:
        """Return an error in the shape that OpenAI's clients expect."""
        return openai_refusal(error)
