"""A small app that serves OpenAI's wires over scripted answers, for their SDK as the client."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import HermesError
from hermes.message.parts import Part, TextPart
from hermes.message.reply import Usage
from hermes.ports.channel import HttpResponse
from hermes.ports.provider import CallEnd, Embedding, StopReason
from hermes.routing.plan import Candidate
from hermes.server.listen import HttpServer, ServeSettings, address_of, bind
from hermes.server.v1.chat import ChatDialect
from hermes.server.v1.dialect import ApiDialect, Stamp, WireCall
from hermes.server.v1.embeddings import read_embeddings, write_embeddings
from hermes.server.v1.models_list import ListedModel, write_model, write_models

USAGE = Usage(tokens_in=10, tokens_out=5, cached_in=4, reasoning_out=2)
STAMP = Stamp("c-1", 1700000000.0)
MODELS = [ListedModel(id=f"m{n}", owner="cloud", created=1700000000) for n in range(45)]


class ScriptedWire:
    """The wire over one scripted answer; it keeps what was asked."""

    def __init__(self) -> None:
        self.dialect: ApiDialect = ChatDialect()
        self.calls: list[WireCall] = []
        self.pieces: Sequence[Piece] = ()
        self.error: HermesError | None = None
        self.answer(TextPart("Good day"))
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/embeddings", self.embed, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/v1/models/{id:path}", self.model),
            ]
        )

    def answer(self, *parts: Part, pieces: Sequence[Piece] = (), stop: StopReason = "end") -> None:
        candidate = Candidate("house", "m-1", "named")
        self.answered = FullAnswer(candidate=candidate, end=CallEnd(parts, stop, USAGE, "m-1"))
        self.pieces = pieces

    async def chat(self, request: Request) -> Response:
        try:
            call = self.dialect.read(await request.body(), request.headers)
        except HermesError as error:
            return _sent(self.dialect.refusal(error))
        self.calls.append(call)
        if call.stream:
            return StreamingResponse(self._frames(call), media_type="text/event-stream")
        if self.error is not None:
            return _sent(self.dialect.refusal(self.error))
        return _json(self.dialect.whole(call, self.answered, stamp=STAMP))

    async def _frames(self, call: WireCall) -> AsyncIterator[bytes]:
        writer = self.dialect.stream(call, stamp=STAMP)
        for piece in self.pieces:
            yield writer.feed(piece)
        yield writer.failed(self.error) if self.error else writer.end(self.answered)

    async def embed(self, request: Request) -> Response:
        try:
            call = read_embeddings(await request.body())
        except HermesError as error:
            return _sent(self.dialect.refusal(error))
        vectors = tuple((float(len(text)), 0.5) for text in call.texts)
        return _json(write_embeddings(call, Embedding(vectors, USAGE, "small-1")))

    async def models(self, request: Request) -> Response:
        return _json(write_models(MODELS, request.headers, query=request.query_params))

    async def model(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        try:
            return _json(write_model(MODELS, request.headers, model_id=wanted))
        except HermesError as error:
            return _sent(self.dialect.refusal(error))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _sent(answer: HttpResponse) -> Response:
    return Response(
        answer.body, answer.status, dict(answer.headers), media_type=answer.content_type
    )


@asynccontextmanager
async def running(gateway: ScriptedWire) -> AsyncIterator[str]:
    """Give the address at which `gateway` answers."""
    listener = bind("127.0.0.1", 0)
    server = HttpServer(gateway.app, listener, settings=ServeSettings(stop_s=1.0))
    serving = asyncio.create_task(server.serve())
    await server.wait_started()
    yield address_of(listener)
    server.stop()
    await serving
